//! The header is what the code says, and every exported function keeps the rules of the C face.
//! `ZUNO_BLESS=1` writes the header and the list of exported names anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, FnArg, Item, ItemFn, Lit, Meta, Pat, ReturnType, Stmt, Type};

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn check(path: &Path, fresh: &str) {
    if std::env::var_os("ZUNO_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, fresh).unwrap();
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == fresh,
        "{} is not what the code says; run `make bless` and look at the difference",
        path.display()
    );
}

/// Every function with C linkage, with the file it is in.
fn exported() -> Vec<(PathBuf, ItemFn)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(crate_folder().join("src")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.is_file(), "{}: the tests read one folder; teach them the other", path.display());
        let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
        for item in file.items {
            match item {
                Item::Fn(function) if function.sig.abi.is_some() => found.push((path.clone(), function)),
                Item::Macro(item) => {
                    panic!("{}: {} may hide an export", path.display(), item.mac.path.segments[0].ident)
                }
                _ => {}
            }
        }
    }
    assert!(found.len() > 40, "the functions were not found");
    found
}

fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_contained(function: &ItemFn) -> bool {
    let [Stmt::Expr(Expr::Call(call), None)] = function.block.stmts.as_slice() else { return false };
    let Expr::Path(path) = &*call.func else { return false };
    let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    // The other arguments are evaluated outside: nothing there may fail.
    let plain = |argument: &Expr| matches!(argument, Expr::Path(_) | Expr::Lit(_) | Expr::Tuple(_) | Expr::Closure(_));
    let constant = |argument: &Expr| match argument {
        Expr::Call(call) => call.args.is_empty(),
        Expr::MethodCall(call) => matches!(&*call.receiver, Expr::Lit(_)) && call.method == "as_ptr",
        other => plain(other),
    };
    matches!(names.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), ["contain", "fallible" | "value"])
        && call.args.len() == 2
        && call.args.iter().all(constant)
        && matches!(call.args.last(), Some(Expr::Closure(_)))
}

#[test]
fn every_exported_body_contains_panics() {
    for (path, function) in exported() {
        let name = &function.sig.ident;
        assert!(is_contained(&function), "{}: the body of {name} is more than one `contain::` call", path.display());
    }
}

#[test]
fn every_exported_function_is_exported_under_its_own_name() {
    for (path, function) in exported() {
        let name = function.sig.ident.to_string();
        let exported = function.attrs.iter().any(|attribute| {
            matches!(&attribute.meta, Meta::List(list) if list.path.is_ident("unsafe") && list.tokens.to_string() == "no_mangle")
        });
        assert!(exported && name.starts_with("zuno_"), "{}: {name}", path.display());
    }
}

#[test]
fn every_exported_function_says_what_a_caller_has_to_know() {
    for (_, function) in exported() {
        let (name, text) = (&function.sig.ident, documentation(&function.attrs));
        let pointers = function
            .sig
            .inputs
            .iter()
            .any(|input| matches!(input, FnArg::Typed(input) if matches!(&*input.ty, Type::Ptr(_))));
        for word in ["Threads:", "Errors:", "Since:"] {
            assert!(text.contains(word), "{name} does not say {word}");
        }
        assert!(!pointers || text.contains("Ownership:"), "{name} does not say Ownership:");
    }
}

#[test]
fn functions_that_may_fail_take_the_error_last() {
    for (_, function) in exported() {
        let name = function.sig.ident.to_string();
        let ReturnType::Type(_, result) = &function.sig.output else { continue };
        let status = matches!(&**result, Type::Path(path) if path.path.is_ident("zuno_status_t"));
        // A destructor takes its handle and nothing else.
        if !status || ["zuno_error_status", "zuno_runtime_free"].contains(&name.as_str()) {
            continue;
        }
        let Some(FnArg::Typed(last)) = function.sig.inputs.last() else { panic!("{name}") };
        assert!(matches!(&*last.pat, Pat::Ident(last) if last.ident == "err"), "{name}");
    }
}

#[test]
fn the_header_is_the_committed_one() {
    let config = cbindgen::Config::from_file(crate_folder().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(crate_folder()).with_config(config).generate().unwrap();
    let mut fresh = Vec::new();
    bindings.write(&mut fresh);
    let fresh = String::from_utf8(fresh).unwrap();
    check(&crate_folder().join("../include/zuno.h"), &fresh);
    let declared: BTreeSet<String> = fresh
        .split("ZUNO_API")
        .skip(1)
        .filter_map(|declaration| declaration.split('(').next()?.split(['*', ' ', '\n']).next_back().map(str::to_owned))
        .filter(|name| name.starts_with("zuno_"))
        .collect();
    let exported: BTreeSet<String> =
        exported().into_iter().map(|(_, function)| function.sig.ident.to_string()).collect();
    assert_eq!(declared, exported);
}

/// The names the library exports; `tests/c/run` compares them with what the linker made.
#[test]
fn the_exported_names_are_the_committed_ones() {
    let mut names: Vec<_> = exported().into_iter().map(|(_, function)| function.sig.ident.to_string()).collect();
    names.sort();
    check(&crate_folder().join("abi/exports.txt"), &format!("{}\n", names.join("\n")));
}
