"""The host's handlers: plain and async, good and bad ones."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
import zuno
from conftest import ASKING, UNCONFINED


def _open(database: Path, **handlers: Any) -> zuno.Runtime:
    return zuno.open(database, config=ASKING, **handlers)


async def _allow_async(request: zuno.ApprovalRequest) -> zuno.Allow:
    await asyncio.sleep(0)
    return zuno.Allow.ONCE


@pytest.mark.parametrize("approve", [lambda request: zuno.Allow.ONCE, _allow_async])
def test_an_approval_shows_the_diff_and_lets_the_call_run(
    database: Path, workspace: Path, approve: zuno.Approve
) -> None:
    seen: list[zuno.ApprovalRequest] = []

    def watching(request: zuno.ApprovalRequest) -> Any:
        seen.append(request)
        return approve(request)

    with _open(database, approve=watching) as runtime:
        runtime.session(workspace).write("new.txt", "hello\n").check()
    request = seen[0]
    assert request.tool == "write" and "new.txt" in request.summary
    assert request.diff is not None and "+hello" in request.diff
    assert (workspace / "new.txt").read_text() == "hello\n"


def test_always_is_asked_once(database: Path, workspace: Path) -> None:
    asked: list[str] = []

    def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        asked.append(request.summary)
        return zuno.Allow.ALWAYS

    with _open(database, approve=approve) as runtime:
        session = runtime.session(workspace)
        session.write("one.txt", "1").check()
        session.write("two.txt", "2").check()
        assert runtime.permissions.grants(session.id)
    assert len(asked) == 1


def _raises(request: zuno.ApprovalRequest) -> zuno.Allow:
    raise ValueError("the approval window broke")


async def _raises_async(request: zuno.ApprovalRequest) -> zuno.Allow:
    raise ValueError("the approval window broke")


def _interrupts(request: zuno.ApprovalRequest) -> zuno.Allow:
    raise KeyboardInterrupt


async def _interrupts_async(request: zuno.ApprovalRequest) -> zuno.Allow:
    raise KeyboardInterrupt


BAD: list[tuple[Callable[..., Any], str]] = [
    (lambda request: None, "None"),
    (lambda request: True, "True"),
    (lambda request: "once", "'once'"),
    (lambda request: zuno.Deny("not on a Friday"), "not on a Friday"),
    (_raises, "the approval window broke"),
    (_raises_async, "the approval window broke"),
    (_interrupts, "KeyboardInterrupt"),
    (_interrupts_async, "KeyboardInterrupt"),
    (lambda: zuno.Allow.ONCE, "TypeError"),
]


@pytest.mark.parametrize(("approve", "reason"), BAD)
def test_anything_but_a_yes_denies_with_the_reason(database: Path, workspace: Path, approve: Any, reason: str) -> None:
    # case: 98
    with _open(database, approve=approve) as runtime:
        session = runtime.session(workspace)
        result = session.write("new.txt", "x")
        assert (result.outcome, result.block_kind) == ("blocked", "denied")
        assert reason in result.output
        assert session.read("a.py").ok
    assert not (workspace / "new.txt").exists()


@pytest.mark.parametrize(("approve", "reason"), BAD)
def test_the_asyncio_face_denies_the_same(database: Path, workspace: Path, approve: Any, reason: str) -> None:
    # case: 98
    async def run() -> None:
        async with zuno.aio.open(database, config=ASKING, approve=approve) as runtime:
            session = await runtime.session(workspace)
            result = await session.write("new.txt", "x")
            assert (result.outcome, result.block_kind) == ("blocked", "denied")
            assert reason in result.output
            assert (await session.read("a.py")).ok

    asyncio.run(run())


@pytest.mark.parametrize("approve", [_raises, _raises_async])
def test_the_exception_of_a_handler_is_kept(database: Path, workspace: Path, approve: Any) -> None:
    with _open(database, approve=approve) as runtime:
        result = runtime.session(workspace).write("new.txt", "x")
    assert isinstance(result.cause, ValueError)
    with pytest.raises(zuno.CallFailed) as raised:
        result.check()
    assert raised.value.__cause__ is result.cause


def test_an_approval_that_never_comes_can_be_given_up(database: Path, workspace: Path) -> None:
    # case: 98
    asked, never = threading.Event(), threading.Event()

    def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        asked.set()
        never.wait()
        return zuno.Allow.ONCE

    with _open(database, approve=approve) as runtime:
        session = runtime.session(workspace)
        results: list[zuno.Result] = []
        caller = threading.Thread(target=lambda: results.append(session.write("new.txt", "x")))
        caller.start()
        assert asked.wait(10)
        assert [waiting.kind for waiting in runtime.waiting()] == ["permission"]
        assert session.interrupt()
        caller.join(10)
        never.set()
        assert results[0].outcome == "error"
        assert results[0].error is not None and results[0].error.kind == "Cancelled"
        assert runtime.waiting() == []
    assert not (workspace / "new.txt").exists()


def test_an_async_handler_is_cancelled_with_its_call(database: Path, workspace: Path) -> None:
    asked, cancelled = threading.Event(), threading.Event()

    async def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return zuno.Allow.ONCE

    with _open(database, approve=approve) as runtime:
        session = runtime.session(workspace)
        caller = threading.Thread(target=session.write, args=("new.txt", "x"))
        caller.start()
        assert asked.wait(10)
        assert session.interrupt()
        assert cancelled.wait(10)
        caller.join(10)


def test_only_the_first_of_two_answers_counts(database: Path, workspace: Path) -> None:
    # case: 89
    # case: 98
    with zuno.open(database, config=ASKING, ports=["approval"]) as runtime:
        session = runtime.session(workspace)
        results: list[zuno.Result] = []
        caller = threading.Thread(target=lambda: results.append(session.write("new.txt", "x")))
        caller.start()
        request = runtime.next(timeout=10)
        assert request is not None and request["kind"] == "approval"
        answers: list[bool] = []
        barrier = threading.Barrier(8)

        def answer(reply: str) -> None:
            barrier.wait()
            answers.append(runtime.respond(request["id"], {"reply": reply, "message": None}))

        threads = [threading.Thread(target=answer, args=("once",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in [*threads, caller]:
            thread.join(10)
        assert sorted(answers) == [False] * 7 + [True]
        assert results[0].ok
        assert runtime.respond(request["id"], {"reply": "reject"}) is False
        assert runtime.fail(request["id"], "host.failed", "late") is False
        assert runtime.respond("req_none", {}) is False
        with pytest.raises(zuno.ClosedError):
            runtime.permissions.reply(request["payload"]["id"], zuno.Allow.ONCE)


def test_a_handler_may_call_back_into_the_runtime(database: Path, workspace: Path) -> None:
    # case: 98
    seen: list[str] = []
    box: list[zuno.Session] = []

    def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        seen.append(box[0].read("a.py").outcome)
        return zuno.Allow.ONCE

    with _open(database, approve=approve) as runtime:
        box.append(runtime.session(workspace))
        other = runtime.session(workspace)
        other.write("new.txt", "x").check()
    assert seen == ["ok"]


def test_the_environment_handler_has_the_last_word(database: Path, workspace: Path) -> None:
    # spec: ENV-11
    def environment(command: zuno.Command) -> dict[str, str]:
        assert command.command.startswith("env") and Path(command.workdir) == workspace
        return {"PATH": command.env["PATH"], "ZUNO_TEST": "by the host"}

    with zuno.open(database, config=UNCONFINED, environment=environment) as runtime:
        lines = runtime.session(workspace).shell("env").check().output.splitlines()
    assert "ZUNO_TEST=by the host" in lines
    assert "HOME" in os.environ and not any(line.startswith("HOME=") for line in lines)


@pytest.mark.parametrize("answer", [{"A": 1}, ["PATH"], "PATH=/bin"])
def test_a_bad_environment_runs_nothing(database: Path, workspace: Path, answer: Any) -> None:
    with zuno.open(database, config=UNCONFINED, environment=lambda command: answer) as runtime:
        result = runtime.session(workspace).shell("touch ran")
    assert result.outcome != "ok"
    assert "environment" in result.output
    assert not (workspace / "ran").exists()


def test_host_tools_take_their_schema_from_the_signature(runtime: zuno.Runtime, session: zuno.Session) -> None:
    @runtime.tool(effect="ReadOnly", replay="Safe", concurrency="ParallelSafe")
    def ticket_find(
        words: list[str],
        state: Literal["open", "closed"] = "open",
        limit: Annotated[int, "At most this many."] = 10,
        author: Optional[str] = None,
        context: zuno.ToolContext = ...,  # type: ignore[assignment]
    ) -> dict[str, Any]:
        "Find tickets."
        return {"words": words, "state": state, "limit": limit, "author": author, "call": context.call_id}

    tool = next(tool for tool in runtime.tools() if tool.name == "ticket_find")
    assert (tool.effect, tool.replay, tool.concurrency) == ("ReadOnly", "Safe", "ParallelSafe")
    assert tool.description == "Find tickets."
    assert tool.input_schema["required"] == ["words"]
    assert tool.input_schema["properties"]["limit"]["description"] == "At most this many."
    assert "context" not in tool.input_schema["properties"]
    result = session.dispatch([zuno.Call("ticket_find", {"words": ["a", "b"], "state": "closed"}, call_id="c1")])[0]
    assert (
        result.check().output == '{"words": ["a", "b"], "state": "closed", "limit": 10, "author": null, "call": "c1"}'
    )
    assert session.call("ticket_find", words="no list").block_kind == "invalid_arguments"


def test_a_tool_without_declarations_is_the_strictest(runtime: zuno.Runtime) -> None:
    # spec: EFFECT-10
    @runtime.tool()
    def ticket_close(id: str) -> str:
        "Close a ticket."
        return id

    tool = next(tool for tool in runtime.tools() if tool.name == "ticket_close")
    assert (tool.effect, tool.replay, tool.concurrency) == ("SideEffecting", "Never", "Exclusive")


def test_host_tools_say_how_they_failed(runtime: zuno.Runtime, session: zuno.Session) -> None:
    @runtime.tool(effect="ReadOnly")
    async def lookup(id: str) -> zuno.ToolOutput:
        "Look something up."
        if id == "busy":
            raise zuno.ToolError("The tracker is busy; try again.", kind="Transient", code="tracker_busy")
        if id == "broken":
            raise RuntimeError("no route to the tracker")
        return zuno.ToolOutput(f"about {id}", title=f"Lookup {id}", metadata={"tracker": "main"})

    good, busy, broken = session.dispatch([zuno.Call("lookup", id=id) for id in ("7", "busy", "broken")])
    assert (good.title, good.output, good.metadata.tracker) == ("Lookup 7", "about 7", "main")
    assert busy.error is not None and (busy.error.kind, busy.error.code) == ("Transient", "tracker_busy")
    assert broken.outcome == "error" and "no route to the tracker" in broken.output
    assert isinstance(broken.cause, RuntimeError)


def test_a_tool_in_doubt_is_listed_until_somebody_looked(runtime: zuno.Runtime, session: zuno.Session) -> None:
    # spec: REPLAY-10
    @runtime.tool(effect="SideEffecting")
    def pay(amount: int) -> str:
        "Pay."
        raise zuno.ToolError("The bank did not answer.", kind="Uncertain", code="lost_response")

    result = session.call("pay", amount=3)
    assert result.outcome == "uncertain"
    assert result.uncertain is not None and result.uncertain.tool == "pay"
    (open_call,) = session.unsettled()
    assert open_call["callId"] == result.call_id
    session.reconcile(result.call_id, "did_not_happen", "The ledger has no entry.", message_id=result.message_id)
    with pytest.raises(zuno.ConflictError):
        session.reconcile(result.call_id, "happened", "Twice.", message_id=result.message_id)
    assert session.unsettled() == []


def test_functions_that_make_no_tool_are_refused(runtime: zuno.Runtime) -> None:
    def positional(*names: str) -> str:
        "Documented."
        return ""

    def undocumented(name: str) -> str:
        return ""

    def strange(name: object) -> str:
        "Documented."
        return ""

    for function in (positional, undocumented, strange):
        with pytest.raises(zuno.ArgumentsError) as raised:
            runtime.tool()(function)
        assert raised.value.code == "arguments.bad_tool"
    with pytest.raises(zuno.ConflictError):

        @runtime.tool(name="read")
        def other(name: str) -> str:
            "Documented."
            return ""


def test_hooks_block_rewrite_and_annotate(runtime: zuno.Runtime, session: zuno.Session) -> None:
    @runtime.before_call
    def guard(call: zuno.BeforeCall) -> zuno.Block | zuno.Rewrite | None:
        if call.arguments.get("filePath") == "b.txt":
            return zuno.Block("b.txt is not for models")
        if call.arguments.get("filePath") == "alias.py":
            return zuno.Rewrite({"filePath": "a.py"})
        return None

    @runtime.after_call
    async def label(call: zuno.AfterCall) -> dict[str, str]:
        return {"seen": call.outcome}

    blocked = session.read("b.txt")
    assert (blocked.outcome, blocked.block_kind) == ("blocked", "denied")
    assert "b.txt is not for models" in blocked.output
    assert blocked.error is not None and blocked.error.denial is not None and blocked.error.denial.origin == "hook"
    rewritten = session.read("alias.py").check()
    assert "first = 1" in rewritten.output and rewritten.arguments == {"filePath": "alias.py"}
    assert rewritten.metadata.seen == "ok"


def test_a_hook_that_raises_blocks_the_call(runtime: zuno.Runtime, session: zuno.Session) -> None:
    @runtime.before_call
    def broken(call: zuno.BeforeCall) -> None:
        raise LookupError("policy server away")

    result = session.read("a.py")
    assert (result.outcome, result.block_kind) == ("blocked", "denied")
    assert "policy server away" in result.output and isinstance(result.cause, LookupError)
