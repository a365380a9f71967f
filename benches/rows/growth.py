"""Row 13: what a call costs when much is stored, and when many run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import host
import zuno
from measure import Case, Goal, Report

STORED = int(os.environ.get("ZUNO_BENCH_STORED", "100000"))
BATCH = 64


def _case(name: str, session: zuno.Session, path: Path, count: int = 300) -> Case:
    return Case(name, lambda: host.ok(session.call("read", filePath=str(path))), count)


def row_13(report: Report) -> None:
    """Sessions, stored calls, parallel reads."""
    report.row(13, "growth")
    with host.folder() as place:
        (place / "full").mkdir()
        with host.opened(place) as (_, small), host.opened(place / "full") as (runtime, large):
            path, other = place / "workspace/file.txt", place / "full/workspace/file.txt"
            path.write_text(host.text(4096))
            other.write_text(host.text(4096))
            few = _case("read, 1 session", small, path)
            _sessions(report, runtime, few, other)
            _stored(report, large, few, other)
            _parallel(report, large, other)


def _sessions(report: Report, runtime: zuno.Runtime, few: Case, path: Path) -> None:
    sessions = [runtime.session(path.parent) for _ in range(100)]
    for session in sessions:
        host.ok(session.call("read", filePath=str(path)))
    turn = iter(range(10**9))
    many = lambda: host.ok(sessions[next(turn) % 100].call("read", filePath=str(path)))  # noqa: E731
    report.compare([few, Case("read, 100 sessions", many, 300)], [Goal("read, 100 sessions", few.name, 1.2)])
    few.rounds.clear()


def _stored(report: Report, session: zuno.Session, few: Case, path: Path) -> None:
    for _ in range(STORED // BATCH):
        session.dispatch([zuno.Call("read", filePath=str(path), limit=1) for _ in range(BATCH)])
    name = f"read, {STORED} stored calls"
    report.compare([few, _case(name, session, path)], [Goal(name, few.name, 1.2)])


def _parallel(report: Report, session: zuno.Session, path: Path) -> None:
    def batch(count: int) -> float:
        started = time.perf_counter()
        for result in session.dispatch([zuno.Call("read", filePath=str(path)) for _ in range(count)]):
            host.ok(result)
        return (time.perf_counter() - started) / count

    sizes = (1, 4, 16, 64)
    cases = [Case(f"per read, {size} in one dispatch", lambda size=size: batch(size), 20, timed=True) for size in sizes]
    report.compare(cases, [Goal(cases[-1].name, cases[0].name, 1.0)])
