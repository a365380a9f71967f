"""The asyncio face: the loop keeps ticking, cancellation is real, loops come and go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zuno
from conftest import ASKING, UNCONFINED, Script


@asynccontextmanager
async def opened(database: Path, workspace: Path, **options: object) -> AsyncIterator[zuno.aio.Session]:
    """A session in the workspace."""
    async with zuno.aio.open(database, **{"config": UNCONFINED, **options}) as runtime:  # type: ignore[arg-type]
        yield await runtime.session(workspace)


class Ticker:
    """Counts how often the loop came around."""

    def __init__(self) -> None:
        self.ticks = 0

    async def __aenter__(self) -> Ticker:
        self._task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            self.ticks += 1

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()


def test_the_loop_ticks_while_a_command_runs_beside_reads(database: Path, workspace: Path) -> None:
    # case: 97
    async def run() -> int:
        async with opened(database, workspace) as session, Ticker() as ticker:
            sleeping = asyncio.create_task(session.shell("sleep 2"))
            other = await session._runtime.session(workspace)
            reads = [zuno.Call("read", filePath="a.py") for _ in range(8)]
            assert all(result.ok for result in await other.dispatch(reads))
            assert (await sleeping).ok
            return ticker.ticks

    # 200 at best; a loop that was blocked would count a handful.
    assert asyncio.run(run()) > 50


def test_a_plain_handler_that_waits_does_not_stop_the_loop(database: Path, workspace: Path) -> None:
    # case: 97
    release = threading.Event()

    def approve(request: zuno.ApprovalRequest) -> zuno.Allow:
        release.wait()
        return zuno.Allow.ONCE

    async def run() -> None:
        async with opened(database, workspace, config=ASKING, approve=approve) as session, Ticker() as ticker:
            writing = asyncio.create_task(session.write("new.txt", "x"))
            while ticker.ticks < 20:
                await asyncio.sleep(0.01)
            release.set()
            assert (await writing).ok

    asyncio.run(run())


def test_cancelling_the_task_cancels_the_command(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with opened(database, workspace) as session:
            started = workspace / "started"
            task = asyncio.create_task(session.shell("touch started; exec sleep 300"))
            while not started.exists():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The session is free again only when the command has been stopped and its call settled.
            assert (await session.read("a.py")).ok
            (call,) = await session.unsettled()
            assert call["tool"] == "shell" and call["outcome"] == "uncertain"

    asyncio.run(run())


def test_a_timeout_is_a_cancellation(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with opened(database, workspace) as session:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.shell("exec sleep 300"), 0.2)
            assert (await session.read("a.py")).ok

    asyncio.run(run())


def test_errors_have_their_class(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with zuno.aio.open(database) as runtime:
            with pytest.raises(zuno.NotFoundError):
                await runtime.session(id="ses_none")
            with pytest.raises(zuno.ArgumentsError):
                await runtime.call("no.such")
        with pytest.raises(zuno.ClosedError):
            await runtime.call("runtime.config")
        with pytest.raises(zuno.StoreError):
            await zuno.aio.open(workspace / "no" / "state.db")

    asyncio.run(run())


def test_the_raw_protocol_is_there(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with zuno.aio.open(database, config=ASKING, ports=["approval"]) as runtime:
            session = await runtime.session(workspace)
            writing = asyncio.create_task(session.write("new.txt", "x"))
            request = await runtime.next(timeout=10)
            assert request is not None and request["kind"] == "approval"
            assert [waiting.kind for waiting in await runtime.waiting()] == ["permission"]
            assert runtime.respond(request["id"], {"reply": "once"})
            assert not runtime.respond(request["id"], {"reply": "once"})
            assert (await writing).ok
            op = runtime.start("session.get", {"sessionId": session.id})
            item = await runtime.next(timeout=10)
            assert item is not None and item["id"] == op
            assert await runtime.next(timeout=0.01) is None

    asyncio.run(run())


def test_two_loops_in_two_threads(tmp_path: Path, workspace: Path) -> None:
    results: dict[int, list[str]] = {}

    async def run(number: int) -> None:
        async with opened(tmp_path / f"{number}.db", workspace) as session:
            outcomes = await asyncio.gather(*(session.read("a.py") for _ in range(10)))
            results[number] = [result.outcome for result in outcomes]

    threads = [threading.Thread(target=asyncio.run, args=(run(number),)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {0: ["ok"] * 10, 1: ["ok"] * 10}


def test_another_loop_is_told_so(database: Path, workspace: Path) -> None:
    async def run() -> None:
        async with opened(database, workspace) as session:
            errors: list[BaseException] = []

            async def elsewhere() -> None:
                with pytest.raises(RuntimeError, match="another event loop"):
                    await session.read("a.py")
                errors.append(RuntimeError())

            thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
            thread.start()
            await asyncio.to_thread(thread.join)
            assert len(errors) == 1

    asyncio.run(run())


def test_a_loop_that_was_closed_gives_up_its_requests(script: Script, database: Path, workspace: Path) -> None:
    # The calls go on without their loop; answers that cannot come any more must not be waited for.
    done = script(
        """
        import asyncio, json, os, sys, time, zuno
        database, workspace = sys.argv[1:]

        async def approve(request):
            await asyncio.Event().wait()

        def write(name):
            call = {"name": "write", "arguments": {"filePath": name, "content": "x"}}
            runtime.start("session.dispatch", {"sessionId": session.id, "calls": [call]})

        async def main():
            runtime = await zuno.aio.open(database, approve=approve)
            return runtime, await runtime.session(workspace)

        loop = asyncio.new_event_loop()
        runtime, session = loop.run_until_complete(main())
        write("before.txt")
        while not runtime._engine._tasks:
            loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        write("after.txt")
        until = time.monotonic() + 20
        while time.monotonic() < until:
            found = json.loads(runtime._engine.core.call("session.messages", json.dumps({"sessionId": session.id})))
            calls = [call for message in found["messages"] for call in message["parts"]]
            if len(calls) == 2 and all(call["outcome"] for call in calls):
                break
            time.sleep(0.01)
        for call in calls:
            print(call["outcome"], call["blockKind"], "loop" in call["output"])
        sys.stdout.flush()
        os._exit(0)
        """,
        database,
        workspace,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["blocked denied True"] * 2, done.stderr
