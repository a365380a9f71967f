//! Questions of a session: listed, and answered once.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zuno::types::{Error, Result};

use crate::buf::zuno_buf_t;
use crate::contain;
use crate::error::zuno_error_t;
use crate::pointers::{Out, required};
use crate::runtime::parse;
use crate::session::zuno_session_t;
use crate::status::zuno_status_t;
use crate::text::zuno_str_t;

/// The questions of a session that wait for an answer: `{"questions":[]}`.
///
/// Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.null`, `store.*`,
/// `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_question_list(
    session: *const zuno_session_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, says the contract.
        let (out, session) = unsafe { (Out::handle(out, "out")?, required(session, "session")?) };
        out.give(zuno_buf_t::new(session.call("question.list", Value::Null)?));
        Ok(())
    })
}

/// Answers a question: `answers` is JSON, the chosen labels or typed texts by item id, such as `{"q1":["Yes"]}`.
/// `revision` is the one the person saw. The same answer sent twice counts once; one to a question that has moved on is
/// refused and changes nothing. The result is `{"question", "inputId", "duplicate"}`.
///
/// Other actions (defer, skip, cancel) are `zuno_runtime_call` of `question.respond`.
///
/// Ownership: borrows `session`, `question_id` and `answers`; returns owned `*out`. Threads: any; blocks briefly.
/// Errors: `arguments.*`, `not_found.object`, `conflict.stale_revision`, `closed.*`, `store.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_question_answer(
    session: *const zuno_session_t,
    question_id: zuno_str_t,
    revision: i64,
    answers: zuno_str_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, says the contract.
        let (out, session) = unsafe { (Out::handle(out, "out")?, required(session, "session")?) };
        // SAFETY: borrowed for the call, says the contract.
        let (question, answers) = unsafe { (question_id.read("question_id")?, answers.read("answers")?) };
        let answers = by_item(answers)?;
        let command = json!({
            "requestId": question,
            "commandId": command_id(question, revision, &answers),
            "expectedRevision": revision,
            "action": { "type": "answer", "answers": answers },
        });
        out.give(zuno_buf_t::new(session.respond(&command)?));
        Ok(())
    })
}

/// A lone answer may be given without its list.
fn by_item(answers: &str) -> Result<Value> {
    let Value::Object(mut items) = parse("answers", answers)? else {
        return Err(Error::arguments("`answers` has to be an object: the answers by item id."));
    };
    for answer in items.values_mut().filter(|answer| answer.is_string()) {
        *answer = json!([answer.take()]);
    }
    items.sort_keys();
    Ok(Value::Object(items))
}

/// The same for the same command on the same revision, so that sending it twice does it once.
fn command_id(question: &str, revision: i64, answers: &Value) -> String {
    let digest = Sha256::digest(json!([question, revision, answers]).to_string());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("c-{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // case: 89
    #[test]
    fn the_order_of_items_does_not_make_another_command() {
        let (one, two) = (by_item(r#"{"a":"x","b":["y"]}"#).unwrap(), by_item(r#"{"b":["y"],"a":["x"]}"#).unwrap());
        assert_eq!(command_id("q", 1, &one), command_id("q", 1, &two));
        assert_ne!(command_id("q", 1, &one), command_id("q", 2, &one));
    }
}
