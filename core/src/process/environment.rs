//! Which variables of the host a command inherits: all of them, less the library's private namespace. A precaution that
//! stops one `env` from being enough, and no confinement.

use std::ffi::{OsStr, OsString};

/// Everything whose name starts so is the library's own. The bare markers `ZUNO` and `AGENT` are not among it.
const PRIVATE_PREFIX: &str = "ZUNO_";

/// The variables a command inherits, in their order. Names that start with `ZUNO_` or one of `prefixes` are left out,
/// compared without case; there is no exception.
pub fn withhold(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    prefixes: &[String],
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| !is_withheld(name, prefixes)).collect()
}

/// Whether a variable of this name is kept from commands.
pub fn is_withheld(name: &OsStr, prefixes: &[String]) -> bool {
    let name = name.as_encoded_bytes();
    starts_with(name, PRIVATE_PREFIX) || prefixes.iter().any(|prefix| starts_with(name, prefix))
}

/// An empty prefix would withhold everything, which nobody means.
fn starts_with(name: &[u8], prefix: &str) -> bool {
    !prefix.is_empty()
        && (name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
            || starts_with_folded(name, prefix))
}

/// Beyond ASCII only for names that are text; folding can only withhold more.
fn starts_with_folded(name: &[u8], prefix: &str) -> bool {
    !prefix.is_ascii() && String::from_utf8_lossy(name).to_lowercase().starts_with(&prefix.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn kept(names: &[&str], prefixes: &[&str]) -> Vec<String> {
        let variables = names.iter().map(|name| (OsString::from(name), OsString::from("v")));
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        withhold(variables, &prefixes).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    // spec: ENV-02 ENV-05 ENV-06 ENV-07 ENV-08 ENV-15
    #[test]
    fn the_whole_namespace_is_withheld() {
        let names = [
            "ZUNO_A",
            "ZUNO_AUTH_CONTENT",
            "ZUNO_CONFIG_CONTENT",
            "ZUNO_PID",
            "ZUNO_CLIENT",
            "ZUNO_WORKSPACE_ID",
            "ZUNO_DB",
            "ZUNO_MODELS_X",
            "ZUNO_SANDBOX_X",
            "ZUNO_7f3a_never_seen",
            "ZUNO_",
        ];
        assert_eq!(kept(&names, &[]), Vec::<String>::new());
    }

    // spec: ENV-01 ENV-03 ENV-04 ENV-13 ENV-14
    #[test]
    fn everything_else_is_inherited_in_order() {
        let names = [
            "PATH",
            "ZUNO",
            "AGENT",
            "HOME",
            "ZUNOX",
            "MYZUNO_A",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "",
        ];
        assert_eq!(kept(&names, &[]), names);
    }

    // spec: ENV-09 ENV-10
    #[test]
    fn names_are_compared_without_case() {
        assert_eq!(kept(&["zuno_server_password", "Zuno_Pid", "ZUNO_PID", "zuno", "zunox"], &[]), ["zuno", "zunox"]);
    }

    #[test]
    fn configured_prefixes_only_add() {
        assert_eq!(kept(&["ACME_KEY", "acme_x", "ZUNO_A", "ACM", "PATH"], &["ACME_"]), ["ACM", "PATH"]);
        assert_eq!(kept(&["PATH", "ZUNO_A"], &[""]), ["PATH"]);
        assert_eq!(kept(&["ÄRGER_X", "ärger_y", "Z"], &["Ärger_"]), ["Z"]);
    }

    // spec: ENV-09
    #[test]
    fn names_and_values_that_are_no_text_are_treated_alike() {
        let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let variables =
            [(odd(b"zUnO_\xff"), odd(b"x")), (odd(b"\xffZUNO_"), odd(b"\xfe")), (odd(b"ZUNO\xff_"), odd(b"y"))];
        let kept = withhold(variables, &[]);
        assert_eq!(kept, [(odd(b"\xffZUNO_"), odd(b"\xfe")), (odd(b"ZUNO\xff_"), odd(b"y"))]);
    }
}
