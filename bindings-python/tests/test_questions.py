"""Questions: durable, answered once, seen in one list."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import zuno
from conftest import ASKING

COLOURS = [{"label": "Red", "description": "Warm."}, {"label": "Blue", "description": "Cold."}]
ASK: list[dict[str, Any]] = [
    {"header": "Colour", "question": "Which colour?", "options": COLOURS},
    {"header": "Name", "question": "Which name?"},
]


def test_a_question_is_answered_item_by_item_and_survives(database: Path, workspace: Path) -> None:
    # case: 88
    with zuno.open(database) as runtime:
        session = runtime.session(workspace)
        question = session.questions.publish(ASK)
        assert [item.id for item in question.items] == ["q1", "q2"]
        assert question.items[0].options[0].label == "Red"
        assert question.answer({"q1": "Red"}).question.state == "pending"
    with zuno.open(database) as runtime:
        (again,) = runtime.session(id=session.id).questions.pending()
        assert (again.id, again.revision) == (question.id, question.revision)
        assert again.view.answers == {"q1": ["Red"]}
        assert again.answer({"q2": ["zuno"]}).question.state == "answered"
        assert runtime.session(id=session.id).questions.pending() == []


def test_the_same_answer_twice_counts_once(runtime: zuno.Runtime, session: zuno.Session) -> None:
    # case: 89
    # spec: QUESTION-16
    first = session.questions.publish(ASK[:1])
    second = session.questions.get(first.id)
    third = session.questions.get(first.id)
    assert first.answer({"q1": ["Red"]}).duplicate is False
    assert second.answer({"q1": ["Red"]}).duplicate is True
    with pytest.raises(zuno.ConflictError) as raised:
        third.answer({"q1": ["Blue"]})
    assert raised.value.code == "conflict.stale_revision"


def test_another_body_under_the_same_command_is_refused(session: zuno.Session) -> None:
    # case: 89
    # spec: QUESTION-18
    question = session.questions.publish(ASK)
    question.answer({"q1": ["Red"]}, command_id="mine")
    with pytest.raises(zuno.ConflictError) as raised:
        question.answer({"q2": ["x"]}, command_id="mine")
    assert raised.value.code == "conflict.command_conflict"


def test_of_many_threads_one_answers(session: zuno.Session) -> None:
    # case: 89
    question = session.questions.publish(ASK[:1])
    views = [session.questions.get(question.id) for _ in range(8)]
    barrier = threading.Barrier(len(views))
    outcomes: list[str] = []

    def answer(number: int) -> None:
        barrier.wait()
        try:
            views[number].answer({"q1": ["Red"]}, command_id=f"thread-{number}")
            outcomes.append("accepted")
        except (zuno.ConflictError, zuno.ClosedError):
            outcomes.append("refused")

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(len(views))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes) == ["accepted"] + ["refused"] * 7


def test_one_list_shows_everything_that_waits(database: Path, workspace: Path) -> None:
    # case: 91
    with zuno.open(database, config=ASKING, ports=["approval"]) as runtime:
        session = runtime.session(workspace)
        question = session.questions.publish(ASK[:1])
        caller = threading.Thread(target=session.write, args=("new.txt", "x"))
        caller.start()
        assert runtime.next(timeout=10) is not None
        waiting = runtime.waiting()
        assert {entry.kind for entry in waiting} == {"question", "permission"}
        assert all(entry.session_id == session.id and entry.since > 0 for entry in waiting)
        assert question.id in [entry.id for entry in waiting]
        (pending,) = runtime.permissions.pending(session.id)
        assert runtime.permissions.reply(pending["id"], zuno.Deny("no"))["state"] == "rejected"
        caller.join(10)
        question.skip()
        assert runtime.waiting() == []


def test_waiting_ends_with_the_answer(session: zuno.Session) -> None:
    question = session.questions.publish(ASK[:1])
    assert question.wait(timeout=0.05) is False
    other = session.questions.get(question.id)
    threading.Timer(0.05, other.answer, ({"q1": ["Blue"]},)).start()
    assert question.wait(timeout=20) is True
    assert question.state == "answered" and question.view.answers == {"q1": ["Blue"]}


def test_a_model_asks_and_the_answer_comes_later(runtime: zuno.Runtime, session: zuno.Session) -> None:
    # spec: QUESTION-07
    result = session.call("question_async", questions=ASK[:1]).check()
    (question,) = session.questions.pending()
    assert result.metadata.requestId == question.id
    question.answer({"q1": ["Red"]})


def test_asyncio_questions(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with zuno.aio.open(database) as runtime:
            session = await runtime.session(workspace)
            question = await session.questions.publish(ASK[:1])
            waiting = asyncio.create_task((await session.questions.get(question.id)).wait(timeout=20))
            await asyncio.sleep(0)
            assert (await question.answer({"q1": "Red"})).duplicate is False
            assert await waiting is True
            assert await session.questions.pending() == []
            assert (await question.refresh()).state == "answered"

    asyncio.run(run())
