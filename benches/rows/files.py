"""Rows 1, 2 and 3: reading and writing files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import host
import rivals
from measure import Case, Goal, Report


def _read(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read(report: Report, number: int, size: int, count: int, goals: list[Goal]) -> None:
    """`read` of one file, by everybody."""
    with host.folder() as place, host.opened(place) as (_, session):
        path = place / "workspace" / "file.txt"
        path.write_text(host.text(size))
        name = str(path)
        cases = [
            Case("zuno read", lambda: host.ok(session.call("read", filePath=name)), count),
            Case("floor: open + read + SHA-256", lambda: hashlib.sha256(_read(path)).digest(), count),
            Case("floor: SQLite commit, NORMAL", host.commit(place / "floor.db", "NORMAL"), count),
        ]
        server = rivals.mcp(path.parent)
        if server:
            cases.append(Case("MCP filesystem server", lambda: server.call("read_text_file", path=name), count))
        else:
            report.skip("MCP filesystem server is not installed")
        tool = rivals.langchain(path.parent)
        if tool:
            cases.append(Case("LangChain file tool", lambda: tool("file.txt"), count))
        else:
            report.skip("LangChain file tool is not installed")
        report.compare(cases, goals)
        if server:
            server.close()


def row_1(report: Report) -> None:
    """A small file."""
    report.row(1, "read 4 KB, full call, Python")
    goals = [
        Goal("zuno read", "MCP filesystem server", 1 / 8, 1 / 15),
        Goal("zuno read", "LangChain file tool", 1 / 2, 1 / 5),
    ]
    read(report, 1, 4096, 400, goals)


def row_2(report: Report) -> None:
    """A large file: the first window, with the digest of all of it."""
    report.row(2, "read 1 MB, first window, whole-file SHA-256")
    read(report, 2, 1 << 20, 40, [Goal("zuno read", "MCP filesystem server", 1 / 6, 1 / 12)])


def _durable_write(path: Path, content: bytes) -> Callable[[], None]:
    temporary = path.with_suffix(".new")

    def once() -> None:
        with open(temporary, "wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        os.rename(temporary, path)

    return once


def row_3(report: Report) -> None:
    """A write that a crash cannot take back."""
    report.row(3, "write 4 KB, durable (rivals are not)")
    with host.folder() as place, host.opened(place) as (_, session):
        workspace = place / "workspace"
        ours, theirs = workspace / "ours.txt", workspace / "theirs.txt"
        content = host.text(4096)
        # An overwrite counts, so the file is there and its current content was read.
        ours.write_text(content)
        host.ok(session.call("read", filePath=str(ours)))
        write = lambda: host.ok(session.call("write", filePath=str(ours), content=content))  # noqa: E731
        cases = [
            Case("zuno write", write, 60),
            Case("floor: write + fsync + rename", _durable_write(workspace / "floor.txt", content.encode()), 60),
            Case("floor: SQLite commit, FULL", host.commit(place / "floor.db", "FULL"), 60),
        ]
        server = rivals.mcp(workspace)
        if server:
            arguments = {"path": str(theirs), "content": content}
            cases.append(Case("MCP filesystem server", lambda: server.call("write_file", **arguments), 60))
        else:
            report.skip("MCP filesystem server is not installed")
        report.compare(cases, [Goal("zuno write", "MCP filesystem server", 1.2)])
        if server:
            server.close()
