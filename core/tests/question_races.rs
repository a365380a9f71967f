//! Two hands on one question: threads of this process, another process, and SIGKILL.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::zombie_processes)]

mod question_support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::sync::Barrier;

use question_support::*;
use zuno::store::Durability;
use zuno::store::questions::{self, Action, AutoDeferState, CommandReceipt, QuestionMode, QuestionState};
use zuno::types::{Error, QuestionId};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn race<T: Send>(hands: Vec<Box<dyn FnOnce() -> T + Send + '_>>) -> Vec<T> {
    let start = Barrier::new(hands.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = hands
            .into_iter()
            .map(|hand| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    hand()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

type Hand<'a> = Box<dyn FnOnce() -> Result<CommandReceipt, Error> + Send + 'a>;

fn hand<'a>(world: &'a World, command: questions::Command) -> Hand<'a> {
    Box::new(move || world.store.write_blocking(Durability::Full, move |tx| questions::respond(tx, &command)))
}

// case: 89
// spec: QUESTION-16, QUESTION-17, QUESTION-18, QUESTION-31
#[tokio::test]
async fn one_of_two_answers_wins() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    for round in 0..40 {
        let question = world.publish(QuestionMode::Deferred, vec![item("Go?", &["Yes", "No"])]).await;
        let yes = answer(&[("q1", &["Yes"])]);
        let no = answer(&[("q1", &["No"])]);
        let before = world.inbox().len();
        let command = |id: &str, action: &Action| world.command(&question, id, 1, action.clone());
        // The same command twice, another command with the old revision, the same id with another body.
        let results = race(vec![
            hand(&world, command("a", &yes)),
            hand(&world, command("a", &yes)),
            hand(&world, command("b", &no)),
            hand(&world, command("a", &no)),
        ]);
        let fresh = results.iter().flatten().filter(|receipt| !receipt.duplicate).count();
        assert_eq!(fresh, 1, "round {round}");
        let now = world.port.get(&question.id).unwrap();
        assert_eq!((now.revision, now.state), (2, QuestionState::Answered));
        assert_eq!(world.inbox().len() - before, 1);
        assert_eq!(world.inbox().last().unwrap().prompt["response"]["answers"]["q1"][0], now.answers["q1"][0]);
        for result in results {
            match result {
                Ok(receipt) => assert_eq!(receipt.question.answers, now.answers),
                Err(error) => assert!(
                    ["conflict.stale_revision", "conflict.command_conflict"].contains(&error.code.as_str()),
                    "{error:?}"
                ),
            }
        }
    }
}

// case: 89: the timeout fires while the answer comes in; it defers only.
// spec: QUESTION-31
#[tokio::test]
async fn an_answer_and_the_timeout_do_not_both_win() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    for _ in 0..40 {
        let question = world.publish(QuestionMode::Deferred, vec![item("Go?", &["Yes", "No"])]).await;
        let before = world.inbox().len();
        let command = world.command(&question, "a", 1, answer(&[("q1", &["Yes"])]));
        let timer = || {
            let store = &world.store;
            Box::new(move || {
                store
                    .write_blocking(Durability::Ordered, |tx| questions::apply_due(tx, START + 120_000))
                    .map(|deferred| deferred.len())
            })
        };
        let results = race::<Result<usize, Error>>(vec![
            Box::new(|| hand(&world, command.clone())().map(|_| 100)),
            timer(),
            timer(),
        ]);
        let deferrals: usize = results[1..].iter().map(|result| *result.as_ref().unwrap()).sum();
        let now = world.port.get(&question.id).unwrap();
        assert_eq!(now.revision, 2);
        match &results[0] {
            Ok(_) => {
                assert_eq!((deferrals, now.state), (0, QuestionState::Answered));
                assert_eq!(world.inbox().len() - before, 1);
            }
            Err(error) => {
                assert_eq!((error.code.as_str(), deferrals), ("conflict.stale_revision", 1));
                assert_eq!(now.auto_defer.as_ref().unwrap().state, AutoDeferState::Deferred);
                assert!(now.answers.is_empty());
                assert_eq!(world.inbox().len(), before);
                let again = world.command(&question, "a", 2, answer(&[("q1", &["Yes"])]));
                assert_eq!(world.port.respond(again).await.unwrap().question.state, QuestionState::Answered);
                assert_eq!(world.inbox().len() - before, 1);
            }
        }
    }
}

// spec: QUESTION-04: waiting publishes nothing, ends with the next change, and ending it changes nothing.
#[tokio::test]
async fn a_wait_ends_with_the_next_change() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let events = world.event_kinds();
    let timed_out = world.port.wait(&question.id, 1, Some(20)).await.unwrap();
    assert_eq!((timed_out.changed, &timed_out.question), (false, &question));
    assert!(world.port.wait(&question.id, 0, None).await.unwrap().changed);
    assert_eq!(world.event_kinds(), events);
    let missing = world.port.wait(&"que_none".into(), 1, None).await;
    assert_eq!(code(missing), "not_found.object");

    let port = world.port.clone();
    let id = question.id.clone();
    let wait = tokio::spawn(async move { port.wait(&id, 1, None).await });
    world.port.respond(world.command(&question, "c", 1, answer(&[("q2", &["80"])]))).await.unwrap();
    let waited = wait.await.unwrap().unwrap();
    assert_eq!((waited.changed, waited.question.revision), (true, 2));

    world.port.respond(world.command(&question, "d", 2, Action::Skip {})).await.unwrap();
    // Nothing can follow the end, so nobody waits for it.
    assert!(!world.port.wait(&question.id, 3, None).await.unwrap().changed);
}

// A second process lists, gets, waits and responds without owning the session; the wait here sees its answer.
// spec: QUESTION-03
#[tokio::test]
async fn another_process_answers() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, vec![item("Go?", &["Yes"])]).await;
    let mut other = spawn("visitor", folder.path());
    let waited = world.port.wait(&question.id, 1, None).await.unwrap();
    assert_eq!(waited.question.answers, answers(&[("q1", &["Yes"])]));
    assert!(other.wait().unwrap().success());
    assert_eq!(world.inbox().len(), 1);
    let duplicate = world.command(&question, "from-elsewhere", 1, answer(&[("q1", &["Yes"])]));
    assert!(world.port.respond(duplicate).await.unwrap().duplicate);
}

// case: 88
// spec: QUESTION-01, QUESTION-13, QUESTION-14
#[tokio::test]
async fn a_question_survives_sigkill() {
    let folder = folder();
    let mut owner = spawn("owner", folder.path());
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok).any(|text| {
        line = text;
        line.contains("que_")
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    let id = QuestionId::from(&line[line.find("que_").unwrap()..][..30]);

    let world = World::open(folder.path(), START + 1_000);
    let open = world.port.list(Some(world.session.clone()), None).unwrap();
    assert_eq!(open.len(), 1);
    let question = &open[0];
    assert_eq!((&question.id, question.revision), (&id, 2));
    assert_eq!(question.questions.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["q1", "q2"]);
    assert_eq!(question.answers, answers(&[("q1", &["SQLite"])]));
    assert_eq!(world.inbox().len(), 1);
    // The killed process may have been answered or not: the client repeats, and nothing happens twice.
    let repeated = world.command(question, "c1", 1, answer(&[("q1", &["SQLite"])]));
    assert!(world.port.respond(repeated).await.unwrap().duplicate);
    let second = world.command(question, "c2", 2, answer(&[("q2", &["80"])]));
    let receipt = world.port.respond(second).await.unwrap();
    assert_eq!((receipt.question.revision, receipt.question.state), (3, QuestionState::Answered));
    assert_eq!(receipt.question.answers, answers(&[("q1", &["SQLite"]), ("q2", &["80"])]));
    assert_eq!(world.inbox().len(), 2);
    world.close();
    let world = World::open(folder.path(), START + 2_000);
    assert_eq!(world.inbox().len(), 2);
}

fn spawn(role: &str, folder: &Path) -> Child {
    Program::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture", "--quiet"])
        .env("QUESTION_TEST_ROLE", role)
        .env("QUESTION_TEST_FOLDER", folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Does nothing by itself; the tests above start this binary again to have a second process.
#[tokio::test]
async fn the_other_process() {
    let Ok(role) = std::env::var("QUESTION_TEST_ROLE") else { return };
    let folder = std::path::PathBuf::from(std::env::var_os("QUESTION_TEST_FOLDER").unwrap());
    match role.as_str() {
        "owner" => {
            let world = World::open(&folder, START);
            let question = world.publish(QuestionMode::Deferred, two_items()).await;
            world.port.respond(world.command(&question, "c1", 1, answer(&[("q1", &["SQLite"])]))).await.unwrap();
            let mut out = std::io::stdout();
            writeln!(out, "\n{}", question.id).unwrap();
            out.flush().unwrap();
            // Killed while it holds everything open.
            std::future::pending::<()>().await;
        }
        _ => {
            let world = World::visit(&folder, START);
            let open = world.port.list(None, None).unwrap();
            let question = world.port.get(&open[0].id).unwrap();
            let not_mine = world.port.publish(params(&world.session, QuestionMode::Deferred, two_items())).await;
            assert_eq!(code(not_mine), "busy.session");
            let command = world.command(&question, "from-elsewhere", 1, answer(&[("q1", &["Yes"])]));
            let receipt = world.port.respond(command).await.unwrap();
            let waited = world.port.wait(&question.id, 1, None).await.unwrap();
            assert_eq!(waited.question, receipt.question);
        }
    }
}
