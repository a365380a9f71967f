use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::parse_rules;
use super::*;

fn rules(value: &Value, layer: &str) -> Vec<Rule> {
    parse_rules(value, layer, Some("/home/u")).unwrap().rules
}

fn layers(trusted: &Value) -> Layers {
    Layers::over_shipped(&rules(trusted, "global"), &[])
}

fn place() -> Place {
    Place { home: Some("/home/u".into()), roots: vec!["/ws".into(), "/link".into()] }
}

fn ask(key: &str, patterns: &[&str]) -> Ask {
    Ask { patterns: patterns.iter().map(|p| (*p).to_owned()).collect(), ..Ask::one(key, "") }
}

fn action(layers: &Layers, ask: &Ask) -> Action {
    decide(layers, &[], ask, &place()).action
}

use Action::{Allow, Ask as Asks, Deny};

#[test]
fn the_shipped_rules() {
    let shipped = layers(&json!({}));
    for (key, pattern, expected) in [
        ("read", "src/a", Allow),
        ("read", "mcp:server:uri", Asks),
        ("glob", "*", Allow),
        ("grep", "x", Allow),
        ("skill", "x", Allow),
        ("job", "*", Allow),
        ("plan_get", "*", Allow),
        ("todo_get", "*", Allow),
        ("goal_get", "*", Allow),
        ("history", "search", Allow),
        ("notes", "read_file/x", Allow),
        ("notes", "write_file/x", Asks),
        ("edit", "a", Asks),
        ("shell", "ls", Asks),
        ("external_directory", "/etc/*", Asks),
        ("anything", "*", Asks),
    ] {
        assert_eq!(action(&shipped, &ask(key, &[pattern])), expected, "{key} {pattern}");
    }
    assert_eq!(action(&Layers::default(), &ask("read", &["a"])), Asks, "no match is an ask");
}

// spec: SWITCH-03
#[test]
fn the_last_match_wins_and_keys_are_patterns() {
    let set = layers(&json!({
        "github_*": "allow", "github_delete": "deny",
        "edit": {"*": "deny", "docs/*": "allow"},
        "shell": {"git *": "allow", "git push*": "deny"},
    }));
    for (key, pattern, expected) in [
        ("github_list", "*", Allow),
        ("github_delete", "*", Deny),
        ("edit", "docs/a.md", Allow),
        ("edit", "src/a.rs", Deny),
        ("shell", "git status", Allow),
        ("shell", "git push", Deny),
        ("shell", "ls", Asks),
    ] {
        assert_eq!(action(&set, &ask(key, &[pattern])), expected, "{key} {pattern}");
    }
    let all = layers(&json!({"read": "deny", "*": "allow"}));
    assert_eq!(action(&all, &ask("read", &["a"])), Allow);
}

// case: 64
#[test]
fn several_patterns_take_the_strictest_answer() {
    let set = layers(&json!({"shell": {"git status*": "allow", "rm *": "deny"}}));
    assert_eq!(action(&set, &ask("shell", &["git status"])), Allow);
    assert_eq!(action(&set, &ask("shell", &["git status", "touch x"])), Asks);
    let decision = decide(&set, &[], &ask("shell", &["touch x", "rm x", "git status"]), &place());
    assert_eq!((decision.action, decision.pattern.as_deref()), (Deny, Some("rm x")));
    assert_eq!(decision.rule.unwrap().as_written(), r#"{"shell":{"rm *":"deny"}}"#);
    let none = layers(&json!({"edit": {"a": "allow", "*": "deny"}}));
    assert_eq!(action(&none, &ask("edit", &[])), Deny, "an empty list is judged as `*`");
}

// case: 65
#[test]
fn further_spellings_are_seen_by_deny_rules_only() {
    let mut call = ask("shell", &["git -C . push"]);
    call.deny_only = vec!["git push".into()];
    assert_eq!(action(&layers(&json!({"shell": {"*": "allow", "git push*": "deny"}})), &call), Deny);
    assert_eq!(action(&layers(&json!({"shell": {"git push*": "allow"}})), &call), Asks);
    assert_eq!(action(&layers(&json!({"shell": {"*": "allow", "git push*": "ask"}})), &call), Allow);
}

// case: 68
#[test]
fn a_deny_of_a_bare_program_covers_its_arguments() {
    let set = layers(&json!({"shell": {"*": "allow", "yarn": "deny"}}));
    for (command, reduced, expected) in [
        ("yarn", None, Deny),
        ("yarn test", None, Deny),
        ("/usr/bin/yarn test", Some("yarn test"), Deny),
        ("yarnx", None, Allow),
    ] {
        let mut call = ask("shell", &[command]);
        call.deny_only = reduced.into_iter().map(str::to_owned).collect();
        assert_eq!(action(&set, &call), expected, "{command}");
    }
    let allowed = layers(&json!({"shell": {"yarn": "allow"}}));
    assert_eq!(action(&allowed, &ask("shell", &["yarn test"])), Asks, "an allow is not widened");
}

// case: 70
#[test]
fn a_deny_sees_every_form_of_a_path() {
    for (pattern, resource) in [
        ("/ws/secret/*", "secret/a"),
        ("secret/*", "/ws/secret/a"),
        ("secret/*", "/link/secret/a"),
        ("secret/*", "./secret//a"),
        ("secret/*", "src/../secret/a"),
        ("/link/secret/*", "secret/a"),
        ("/etc/*", "../etc/passwd"),
        ("~/.ssh/*", "../home/u/.ssh/id"),
        (r"secret\*", "secret/a"),
    ] {
        let denied = layers(&json!({"read": {pattern: "deny"}}));
        assert_eq!(action(&denied, &ask("read", &[resource])), Deny, "{pattern} {resource}");
    }
    for (pattern, resource, expected) in [
        ("secret/*", "./secret//a", Allow),
        ("secret/*", "/ws/secret/a", Asks),
        ("/ws/secret/*", "secret/a", Asks),
        ("secret/*", "src/../secret/a", Asks),
        ("src/*", "src/../secret/a", Asks),
        ("src/*", "src/x/../a", Allow),
    ] {
        let allowed = layers(&json!({"edit": {pattern: "allow"}}));
        assert_eq!(action(&allowed, &ask("edit", &[resource])), expected, "{pattern} {resource}");
    }
    let mut linked = ask("read", &["d/hostname"]);
    linked.deny_only = vec!["/etc/hostname".into()];
    assert_eq!(action(&layers(&json!({"read": {"/etc/*": "deny"}})), &linked), Deny);
}

#[test]
fn narrowing_layers_only_tighten() {
    let trusted = rules(&json!({"edit": {"*": "allow", "secret/*": "deny"}, "shell": "ask"}), "global");
    let project = rules(
        &json!({"edit": {"secret/*": "allow", "src/*": "ask"}, "shell": {"ls*": "allow", "rm*": "deny"}}),
        "project",
    );
    let set = Layers::over_shipped(&trusted, &project);
    for (key, pattern, expected) in [
        ("edit", "docs/a", Allow),
        ("edit", "src/a", Asks),
        ("edit", "secret/a", Deny),
        ("shell", "ls", Asks),
        ("shell", "rm x", Deny),
        ("read", "x", Allow),
    ] {
        assert_eq!(action(&set, &ask(key, &[pattern])), expected, "{key} {pattern}");
    }
}

#[test]
fn one_narrowing_layer_does_not_loosen_another() {
    let mut narrowing = rules(&json!({"edit": "deny"}), "parent");
    narrowing.extend(rules(&json!({"edit": "ask"}), "project"));
    let set = Layers::over_shipped(&rules(&json!({"edit": "allow"}), "global"), &narrowing);
    assert_eq!(action(&set, &ask("edit", &["a"])), Deny);
}

#[test]
fn a_tool_without_an_ordinary_ask_asks_only_when_named() {
    let call = ask("bg", &["cancel"]).implicit();
    for (config, expected) in [
        (json!({}), Allow),
        (json!({"*": "ask"}), Allow),
        (json!({"*": "deny"}), Deny),
        (json!({"bg": "ask"}), Asks),
        (json!({"b?": "ask"}), Asks),
        (json!({"bg": {"list": "ask"}}), Allow),
        (json!({"bg": {"cancel": "deny"}}), Deny),
        (json!({"bg": "ask", "*": "ask"}), Asks),
        (json!({"bg": "ask", "*": "allow"}), Allow),
    ] {
        assert_eq!(action(&layers(&config), &call), expected, "{config}");
    }
}

#[test]
fn grants_lift_an_ask_and_never_a_deny() {
    let set = layers(&json!({"edit": {"secret/*": "deny"}}));
    let grant = |key: &str, pattern: &str| Grant { key: key.to_owned(), pattern: pattern.to_owned(), access: None };
    let with =
        |grants: &[Grant], key: &str, patterns: &[&str]| decide(&set, grants, &ask(key, patterns), &place()).action;
    assert_eq!(with(&[grant("edit", "src/*")], "edit", &["src/a"]), Allow);
    assert_eq!(with(&[grant("edit", "src/*")], "edit", &["src/a", "b"]), Asks);
    assert_eq!(with(&[grant("edit", "*")], "edit", &["secret/a"]), Deny);
    assert_eq!(with(&[grant("*", "*")], "edit", &["a"]), Asks, "a grant's key is literal");
    assert_eq!(with(&[grant("edit", "~/*")], "edit", &["/home/u/x"]), Asks, "`~` in a grant is a folder of that name");
    assert_eq!(with(&[grant("edit", "~/*")], "edit", &["~/x"]), Allow);
}

#[test]
fn leave_to_read_a_directory_is_no_leave_to_write() {
    let grant = |access| Grant { key: "external_directory".into(), pattern: "/ext/*".into(), access: Some(access) };
    let with = |granted: Access, wanted: Access| {
        let call = Ask { access: Some(wanted), ..ask("external_directory", &["/ext/*"]) };
        decide(&layers(&json!({})), &[grant(granted)], &call, &place()).action
    };
    assert_eq!(with(Access::Read, Access::Read), Allow);
    assert_eq!(with(Access::Read, Access::Write), Asks);
    assert_eq!(with(Access::Write, Access::Read), Allow);
}

#[test]
fn hidden_tools_are_those_denied_for_everything() {
    let set = layers(&json!({"webfetch": "deny", "edit": {"secret/*": "deny"}, "mcp_*": "deny"}));
    assert!(tool_hidden(&set, "webfetch"));
    assert!(tool_hidden(&set, "mcp_a"));
    assert!(!tool_hidden(&set, "edit"));
    assert!(!tool_hidden(&set, "read"));
    let narrowed = Layers::over_shipped(&[], &rules(&json!({"shell": "deny"}), "project"));
    assert!(tool_hidden(&narrowed, "shell"));
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let key = prop_oneof!["edit", "shell", "read", Just("*".to_owned())];
    let action = prop_oneof![Just(Allow), Just(Asks), Just(Deny)];
    (key, "[ab*?/ .]{0,5}", action, prop_oneof!["p", "q"]).prop_map(|(key, pattern, action, layer)| Rule {
        key,
        pattern,
        action,
        reason: None,
        layer,
    })
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let texts = || prop::collection::vec("[ab/ .]{0,5}", 0..3);
    (prop_oneof!["edit", "shell", "read"], texts(), texts(), any::<bool>())
        .prop_map(|(key, patterns, deny_only, implicit)| Ask { patterns, deny_only, implicit, ..Ask::one(&key, "") })
}

proptest! {
    #[test]
    fn a_narrowing_rule_never_loosens(
        trusted in prop::collection::vec(any_rule(), 0..6),
        narrowing in prop::collection::vec(any_rule(), 0..4),
        extra in any_rule(),
        call in any_ask(),
    ) {
        let bare = Layers { trusted: trusted.clone(), narrowing: Vec::new() };
        let narrowed = Layers { trusted: trusted.clone(), narrowing: narrowing.clone() };
        let (base, tight) = (action(&bare, &call), action(&narrowed, &call));
        prop_assert!(call.implicit || tight >= base);
        prop_assert!(base != Deny || tight == Deny);
        let mut with_allow = narrowing;
        with_allow.push(Rule { action: Allow, ..extra });
        let again = Layers { trusted, narrowing: with_allow };
        prop_assert_eq!(action(&again, &call), tight);
    }

    #[test]
    fn a_grant_turns_ask_into_allow_and_nothing_else(
        trusted in prop::collection::vec(any_rule(), 0..6),
        narrowing in prop::collection::vec(any_rule(), 0..4),
        pattern in "[ab*?/ .]{0,5}",
        call in any_ask(),
    ) {
        let set = Layers { trusted, narrowing };
        let before = action(&set, &call);
        let grant = Grant { key: call.key.clone(), pattern, access: None };
        let after = decide(&set, &[grant], &call, &place()).action;
        prop_assert!(after == before || (before == Asks && after == Allow));
    }

    #[test]
    fn further_spellings_never_loosen(trusted in prop::collection::vec(any_rule(), 0..6), call in any_ask()) {
        let set = Layers { trusted, narrowing: Vec::new() };
        let plain = Ask { deny_only: Vec::new(), ..call.clone() };
        prop_assert!(action(&set, &call) >= action(&set, &plain));
    }
}
