use super::*;
use crate::store::questions::{AutoDefer, Choice, Delivery, Origin};
use crate::types::QuestionId;

fn question(purpose: Purpose, closed: bool) -> Question {
    let item = |text: &str| NewItem {
        question: text.to_owned(),
        header: "H".to_owned(),
        options: ["Resume", "Stay"].map(|label| Choice { label: label.to_owned(), description: String::new() }).into(),
        multiple: false,
    };
    let items = if purpose == Purpose::GoalResume { vec![item("Go on?")] } else { vec![item("A?"), item("B?")] };
    Question {
        id: QuestionId::from("que_00000000000000000000000000"),
        origin: Origin { session_id: "ses_a".into(), message_id: None, call_id: None, turn_id: None, goal_id: None },
        revision: 1,
        mode: QuestionMode::Deferred,
        purpose,
        state: QuestionState::Pending,
        questions: number(items, closed),
        answers: Answers::new(),
        draft_answers: Answers::new(),
        auto_defer: None,
        goal_revision: None,
        plan: None,
        decision: None,
        authorization: None,
        delivery: Delivery::default(),
        time_created: 1,
        time_updated: 1,
    }
}

fn command(action: Action) -> Command {
    Command { request_id: "que_x".into(), command_id: "c".to_owned(), expected_revision: 1, action }
}

fn answer_of(pairs: &[(&str, &str)]) -> Action {
    let answers = pairs.iter().map(|(id, value)| ((*id).to_owned(), vec![(*value).to_owned()])).collect();
    Action::Answer { answers }
}

fn try_on(purpose: Purpose, action: Action) -> Result<(Question, Option<&'static str>), String> {
    let mut question = question(purpose, purpose == Purpose::GoalResume);
    let accepted = apply(&mut question, &command(action)).map_err(|error| error.code)?;
    Ok((question, accepted.outcome))
}

#[test]
fn required_input_takes_all_answers_or_none() {
    let purpose = Purpose::RequiredInput;
    assert_eq!(try_on(purpose, Action::Skip {}).unwrap_err(), "arguments.required_input");
    assert_eq!(try_on(purpose, answer_of(&[("q1", "x")])).unwrap_err(), "arguments.invalid");
    let (answered, outcome) = try_on(purpose, answer_of(&[("q1", "x"), ("q2", "y")])).unwrap();
    assert_eq!((answered.state, outcome), (QuestionState::Answered, Some("answered")));
    let (cancelled, outcome) = try_on(purpose, Action::Cancel {}).unwrap();
    assert_eq!((cancelled.state, outcome), (QuestionState::Cancelled, None));
    let (deferred, outcome) = try_on(purpose, Action::Defer { draft_answers: None }).unwrap();
    assert_eq!((deferred.state, outcome), (QuestionState::Pending, None));
}

#[test]
fn a_plan_is_decided_and_not_answered() {
    let purpose = Purpose::PlanAuthorization;
    assert_eq!(try_on(purpose, Action::Skip {}).unwrap_err(), "arguments.plan_decision_only");
    assert_eq!(try_on(purpose, answer_of(&[("q1", "x")])).unwrap_err(), "arguments.plan_decision_only");
}

#[test]
fn goal_resume_takes_one_of_its_labels() {
    let purpose = Purpose::GoalResume;
    assert_eq!(try_on(purpose, answer_of(&[("q1", "Perhaps")])).unwrap_err(), "arguments.invalid");
    let (answered, outcome) = try_on(purpose, answer_of(&[("q1", "Stay")])).unwrap();
    assert_eq!((answered.state, outcome), (QuestionState::Answered, None));
    assert_eq!(try_on(purpose, Action::Cancel {}).unwrap().1, None);
}

// spec: QUESTION-02
#[test]
fn every_accepted_command_but_snooze_raises_the_revision_and_releases() {
    let actions =
        [answer_of(&[("q1", "x")]), Action::Defer { draft_answers: None }, Action::Skip {}, Action::Cancel {}];
    for action in actions {
        let mut question = question(Purpose::Clarification, false);
        question.mode = QuestionMode::Blocking;
        apply(&mut question, &command(action.clone())).unwrap();
        assert_eq!((question.revision, question.mode), (2, QuestionMode::Deferred), "{action:?}");
    }
    let mut question = question(Purpose::Clarification, false);
    question.auto_defer = Some(AutoDefer { deadline_at: 2, countdown_at: 1, state: AutoDeferState::Armed });
    apply(&mut question, &command(Action::Snooze { draft_answers: None })).unwrap();
    assert_eq!(question.revision, 1);
    assert!(!question.is_armed());
}

#[test]
fn the_id_of_an_input_follows_from_question_and_revision() {
    use crate::store::questions::input_id;
    let id = QuestionId::from("que_01kbcdefgh0123456789abcdef");
    let made = input_id(&id, 2);
    assert!(made.as_str().starts_with("inp_01kbcdefgh"));
    assert_eq!(made.as_str().len(), "inp_".len() + 26);
    assert_eq!(made, input_id(&id, 2));
    assert_ne!(made, input_id(&id, 3));
    assert_ne!(made, input_id(&QuestionId::from("que_01kbcdefgh0123456789abcdeg"), 2));
}
