"""Hosts of the rows: an open runtime with a session that asks nobody."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import zuno

UNCONFINED = {"sandbox": {"mode": "danger-full-access"}}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """An empty folder on the disk that temporary files are on."""
    with tempfile.TemporaryDirectory(prefix="zuno-bench-") as made:
        yield Path(made).resolve()


@contextlib.contextmanager
def opened(place: Path) -> Iterator[tuple[zuno.Runtime, zuno.Session]]:
    """A runtime on a file, and a session in a folder beside it."""
    workspace = place / "workspace"
    workspace.mkdir(exist_ok=True)
    with zuno.open(place / "state.db", config=UNCONFINED) as runtime:
        yield runtime, runtime.session(workspace)


def text(size: int) -> str:
    """Lines like source code, of that many bytes."""
    line = "the quick brown fox jumps over the lazy dog, line by line, 0123456789\n"
    return (line * (size // len(line) + 1))[: size - 1] + "\n"


def ok(result: zuno.Result) -> zuno.Result:
    """A call that did not work must not count as a quick one."""
    if result.outcome != "ok":
        raise RuntimeError(f"{result.tool}: {result.outcome}: {result.output[:300]}")
    return result


def commit(path: Path, synchronous: str) -> Callable[[], object]:
    """One commit of one row, as a floor."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS floor (value TEXT)")
    return lambda: connection.execute("INSERT INTO floor VALUES ('one row of some length')")
