"""Row 14: to a handler of the host and back, as the difference that the handler makes to a call."""

from __future__ import annotations

import asyncio
import statistics
import time

import host
import zuno
from measure import Case, Goal, Report


def row_14(report: Report) -> None:
    """The time between the request leaving the caller and the answer, less a call without a host."""
    report.row(14, "host round trip, async handler, Python")
    with host.folder() as place:
        asyncio.run(_measure(report, place))


async def _measure(report: Report, place) -> None:  # type: ignore[no-untyped-def]
    workspace = place / "workspace"
    workspace.mkdir()
    (workspace / "file.txt").write_text("x\n")
    async with zuno.aio.open(place / "state.db", config=host.UNCONFINED) as runtime:

        @runtime.tool(effect="ReadOnly", replay="Safe", concurrency="ParallelSafe")
        async def echo(word: str) -> str:
            "Echo."
            return word

        session = await runtime.session(workspace)
        with_host, without = Case("aio call of an async host tool", lambda: None), Case("aio read, 2 bytes", lambda: None)
        difference = Case("round trip (difference)", lambda: None)
        for _ in range(report.rounds + 1):
            for case, name, arguments in (
                (with_host, "echo", {"word": "hello"}),
                (without, "read", {"filePath": str(workspace / "file.txt")}),
            ):
                samples = []
                for _ in range(300):
                    started = time.perf_counter()
                    host.ok(await session.call(name, **arguments))
                    samples.append(time.perf_counter() - started)
                case.rounds.append(statistics.median(samples))
            difference.rounds.append(max(0.0, with_host.rounds[-1] - without.rounds[-1]))
    for case in (with_host, without, difference):
        case.rounds.pop(0)
    report.show([with_host, without, difference], [Goal(difference.name, "", 50e-6)])
