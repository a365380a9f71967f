"""The tour, as a type checker sees it. Checked, never run."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import zuno
from typing_extensions import assert_type


def approve(request: zuno.ApprovalRequest) -> zuno.Decision:
    print(request.summary, request.diff or "")
    return zuno.Allow.ONCE if request.tool == "read" else zuno.Deny("not on a Friday")


async def approve_later(request: zuno.ApprovalRequest) -> zuno.Decision:
    return zuno.Allow.ALWAYS


def environment(command: zuno.Command) -> dict[str, str]:
    return {"PATH": command.env["PATH"], "CI": "1"}


def sync(patch: str) -> None:
    with zuno.open("state.db", approve=approve, environment=environment) as runtime:
        session = runtime.session(".")
        tools = session.tools(format="openai")
        assert_type(tools, list[dict[str, Any]])

        result = session.call("read", filePath="src/app.py")
        assert_type(result, zuno.Result)
        result = session.shell("pytest -q | tail -5")
        if result.receipt is not None:
            assert_type(result.receipt.authority, Literal["authoritative", "derived", "absent"])

        outcomes = session.dispatch(
            [
                zuno.Call("grep", pattern="TODO"),
                zuno.Call("glob", pattern="**/*.py"),
                zuno.Call("apply_patch", patchText=patch),
            ]
        )
        for o in outcomes:
            match o.outcome:
                case "ok":
                    print(o.tool, o.title)
                case "blocked":
                    print("did not happen:", o.block_kind, o.error and o.error.message)
                case "error":
                    print(o.error and o.error.kind, o.error and o.error.conflict and o.error.conflict.requiredAction)
                case "uncertain":
                    print("look first:", o.error and o.error.message)

        for question in session.questions.pending():
            assert_type(question.answer({"q1": ["Yes"]}), zuno.Answered)

        @runtime.tool(effect="SideEffecting")
        def ticket_close(id: str, reason: str) -> str:
            "Close a ticket."
            return id + reason

        assert_type(ticket_close("1", "done"), str)


async def print_events(events: zuno.aio.EventStream) -> None:
    async for event in events:
        assert_type(event, zuno.Event)


async def with_asyncio() -> None:
    async with zuno.aio.open("state.db", approve=approve_later) as runtime:
        assert_type(runtime, zuno.aio.Runtime)
        session = await runtime.session(".")
        task = asyncio.create_task(session.shell("make test", timeout=300_000))
        assert_type(await task, zuno.Result)
        asyncio.get_running_loop().create_task(print_events(session.events()))
