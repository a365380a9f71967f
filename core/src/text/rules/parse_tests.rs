use serde_json::json;

use super::*;

fn read(value: &Value) -> Result<ParsedRules> {
    parse_rules(value, "global", Some("/home/u"))
}

fn shape(parsed: &ParsedRules) -> Vec<(&str, &str, &str)> {
    parsed.rules.iter().map(|rule| (rule.key.as_str(), rule.pattern.as_str(), rule.action.name())).collect()
}

#[test]
fn both_forms_keep_the_order_of_the_text() {
    let text =
        r#"{"shell":{"git *":"allow","git push*":{"action":"deny","reason":"no pushing"}},"*":"ask","edit":"deny"}"#;
    let object = read(&serde_json::from_str(text).unwrap()).unwrap();
    let array = read(&json!([
        {"key": "shell", "pattern": "git *", "action": "allow"},
        {"key": "shell", "pattern": "git push*", "action": "deny", "reason": "no pushing"},
        {"key": "*", "pattern": "*", "action": "ask"},
        {"key": "edit", "pattern": "*", "action": "deny"},
    ]))
    .unwrap();
    assert_eq!(object, array);
    let expected =
        [("shell", "git *", "allow"), ("shell", "git push*", "deny"), ("*", "*", "ask"), ("edit", "*", "deny")];
    assert_eq!(shape(&object), expected);
    assert_eq!(object.rules[1].reason.as_deref(), Some("no pushing"));
    assert!(object.rules.iter().all(|rule| rule.layer == "global"));
}

#[test]
fn an_action_object_may_stand_for_the_bare_action() {
    let parsed = read(&json!({"edit": {"action": "deny", "reason": "read only"}})).unwrap();
    assert_eq!(shape(&parsed), [("edit", "*", "deny")]);
}

#[test]
fn refused_keys_name_the_right_one() {
    for (key, right) in REFUSED {
        let error = read(&json!({ key: "deny" })).unwrap_err();
        assert_eq!(error.code, "arguments.config");
        assert!(error.message.contains(&format!("Use `{right}`")), "{}", error.message);
        assert!(read(&json!([{"key": key, "pattern": "*", "action": "allow"}])).is_err());
    }
}

// spec: QUESTION-19
#[test]
fn question_async_is_a_dead_key() {
    let parsed = read(&json!({"question_async": "deny", "question": "deny"})).unwrap();
    assert_eq!(shape(&parsed), [("question", "*", "deny")]);
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(parsed.diagnostics[0].code, "config.dead_rule");
    assert!(parsed.diagnostics[0].detail.contains("`question`"));
}

#[test]
fn examples_are_checked_when_the_rules_are_read() {
    let good = json!({"shell": {"yarn": {"action": "deny", "match": ["yarn", "yarn test"], "not_match": ["yarnx"]}}});
    assert!(read(&good).is_ok());
    let home = json!({"read": {"~/.ssh/*": {"action": "deny", "match": ["/home/u/.ssh/id"]}}});
    assert!(read(&home).is_ok());
    for (rules, example) in [
        (json!({"shell": {"git push": {"action": "deny", "match": ["git push -f"]}}}), "git push -f"),
        (json!({"shell": {"git *": {"action": "allow", "not_match": ["git push"]}}}), "git push"),
        (json!({"edit": {"action": "allow", "not_match": ["anything"]}}), "anything"),
    ] {
        let error = read(&rules).unwrap_err();
        assert!(error.message.contains(example), "{}", error.message);
        assert_eq!(error.details["example"], example);
        assert!(error.details["rule"].as_str().is_some());
    }
}

#[test]
fn wrong_shapes_are_errors_that_name_the_place() {
    for rules in [
        json!(null),
        json!("allow"),
        json!({"edit": "yes"}),
        json!({"edit": null}),
        json!({"edit": true}),
        json!({"": "allow"}),
        json!({"edit": {"src/*": "maybe"}}),
        json!({"edit": {"src/*": {"action": "allow", "because": "x"}}}),
        json!({"edit": {"action": "allow", "src/*": "deny"}}),
        json!({"edit": {"action": "allow", "reason": 3}}),
        json!({"edit": {"action": "allow", "match": "x"}}),
        json!({"edit": {"action": "allow", "match": [1]}}),
        json!([["edit", "allow"]]),
        json!([{"pattern": "*", "action": "allow"}]),
        json!([{"key": "edit", "action": "allow"}]),
        json!([{"key": "edit", "pattern": "*"}]),
    ] {
        let error = read(&rules).unwrap_err();
        assert_eq!(error.code, "arguments.config", "{rules}");
        assert!(error.message.contains("permission.rules"), "{}", error.message);
    }
}
