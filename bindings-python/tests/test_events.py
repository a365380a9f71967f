"""Events: in order, without loss, and never a burden."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import zuno
from conftest import ASKING
from zuno._streams import EventBuffer


def _tool(runtime: zuno.Runtime) -> None:
    @runtime.tool(effect="ReadOnly", concurrency="ParallelSafe")
    def echo(text: str) -> str:
        "Say it again."
        return text


def test_a_stream_follows_a_call_in_order(runtime: zuno.Runtime, session: zuno.Session) -> None:
    _tool(runtime)
    with session.events() as events:
        session.call("echo", text="one").check()
        seen: list[zuno.Event] = []
        while not seen or seen[-1].type != "tool.result.appended":
            event = events.next(timeout=10)
            assert event is not None
            seen.append(event)
    types = [event.type for event in seen if event.type.startswith("tool.")]
    wanted = ["tool.call.started", "tool.dispatch.started", "tool.dispatch.completed", "tool.result.appended"]
    assert [kind for kind in types if kind in wanted] == wanted
    numbers = [event.seq for event in seen if event.durable]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert seen[0].session_id == session.id and seen[-1].data.outcome == seen[-1].data["outcome"] == "ok"


def test_a_stream_starts_where_it_is_told(runtime: zuno.Runtime, session: zuno.Session) -> None:
    _tool(runtime)
    for _ in range(5):
        session.call("echo", text="x").check()
    stored = session.history()
    with session.events(after=0) as events:
        replayed = [events.next(timeout=10) for _ in stored]
    assert replayed == stored
    assert session.history(after=stored[2].seq)[0] == stored[3]


def test_a_stream_shows_only_the_types_asked_for(runtime: zuno.Runtime, session: zuno.Session) -> None:
    _tool(runtime)
    with session.events(types=["tool.dispatch.completed"]) as events:
        for text in ("a", "b"):
            session.call("echo", text=text).check()
        first, second = events.next(timeout=10), events.next(timeout=10)
        assert first is not None and second is not None
        assert {first.type, second.type} == {"tool.dispatch.completed"}
        assert events.next(timeout=0) is None


def test_a_stream_ends_with_its_runtime(database: Path, workspace: Path) -> None:
    runtime = zuno.open(database)
    events = runtime.session(workspace).events()
    seen: list[zuno.Event] = []
    reader = threading.Thread(target=lambda: seen.extend(events))
    reader.start()
    runtime.close()
    reader.join(10)
    assert not reader.is_alive()


def test_two_thousand_calls_with_a_subscription_that_nobody_reads(database: Path, workspace: Path) -> None:
    # case: 95
    asked: list[str] = []

    def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        asked.append(request.id)
        return zuno.Allow.ONCE

    with zuno.open(database, config=ASKING, approve=approve) as runtime:
        _tool(runtime)
        session = runtime.session(workspace)
        events = session.events()
        hooked: list[str] = []

        @runtime.before_call
        def count(call: zuno.BeforeCall) -> None:
            hooked.append(call.call_id)

        for _ in range(50):
            results = session.dispatch([zuno.Call("echo", text="x" * 100) for _ in range(40)])
            assert all(result.ok for result in results)
        assert len(asked) == len(hooked) == 2000
        assert events._buffer.waiting <= EventBuffer.ENTRIES
        # What did not fit is fetched when somebody reads after all: every stored event, once, in order.
        last = 0
        for event in events:
            if event.durable:
                assert event.seq == last + 1 or last == 0
                last = event.seq
                if len(session.history(after=last, limit=1)) == 0:
                    break
        assert last > 8000


def _raw(number: int, durable: bool = True, size: int = 10) -> dict[str, Any]:
    return {
        "id": f"evt_{number}",
        "type": "t",
        "sessionId": "ses_1",
        "seq": number,
        "durable": durable,
        "time": 0,
        "data": {"text": "x" * size},
    }


def test_a_full_buffer_resumes_where_it_stopped() -> None:
    # case: 95
    buffer = EventBuffer("ses_1", None, True, None)
    for number in range(1, EventBuffer.ENTRIES + 1):
        assert buffer.push(_raw(number), 10)
    assert not buffer.push(_raw(EventBuffer.ENTRIES + 1), 10)
    assert buffer.push(_raw(EventBuffer.ENTRIES + 1, durable=False), 10)
    assert not buffer.needs_subscription
    while buffer.pop() is not None:
        pass
    assert buffer.needs_subscription
    notice = buffer.resume()
    assert notice is not None and notice.type == "stream.lagged"
    assert dict(notice.data) == {"dropped": 1, "resumeAfter": EventBuffer.ENTRIES}
    assert buffer.parameters()["after"] == EventBuffer.ENTRIES


def test_a_buffer_is_bounded_by_bytes_too() -> None:
    # case: 95
    buffer = EventBuffer("ses_1", 4, True, ["t"])
    assert buffer.push(_raw(5), EventBuffer.BYTES + 1)
    assert not buffer.push(_raw(6), 1)
    assert buffer.parameters() == {"sessionId": "ses_1", "after": 5, "types": ["t"], "live": True}


def test_asyncio_streams_follow_and_resume(database: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # case: 95
    monkeypatch.setattr(EventBuffer, "ENTRIES", 16)

    async def run() -> None:
        async with zuno.aio.open(database, config={"permission": {"mode": "allow_all"}}) as runtime:

            @runtime.tool(effect="ReadOnly")
            async def echo(text: str) -> str:
                "Say it again."
                return text

            session = await runtime.session(workspace)
            async with session.events(after=0) as events:
                for _ in range(30):
                    (await session.call("echo", text="x")).check()
                stored = await session.history()
                seen = []
                async for event in events:
                    seen.append(event)
                    if event.durable and event.seq == stored[-1].seq:
                        break
                assert [event for event in seen if event.durable] == stored
                assert await events.next(timeout=0.01) is None

    asyncio.run(run())
