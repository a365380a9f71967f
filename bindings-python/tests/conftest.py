"""Fixtures over the real library: real files, real commands, real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zuno

UNCONFINED = {"sandbox": {"mode": "danger-full-access"}}
"""Commands run with the tests' own authority, and nothing asks: for tests about something else."""
ASKING = {"sandbox": {"onUnavailable": "run-unconfined"}}
"""The shipped rules: writes and commands ask."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A directory with two files."""
    path = tmp_path / "workspace"
    path.mkdir()
    (path / "a.py").write_text("first = 1  # TODO one\nsecond = 2\n")
    (path / "b.txt").write_text("plain\n")
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "state.db"


@pytest.fixture
def runtime(database: Path) -> Iterator[zuno.Runtime]:
    """A runtime that asks nobody."""
    with zuno.open(database, config=UNCONFINED) as opened:
        yield opened


@pytest.fixture
def session(runtime: zuno.Runtime, workspace: Path) -> zuno.Session:
    """A session in the workspace."""
    return runtime.session(workspace)


Script = Callable[..., "subprocess.CompletedProcess[str]"]


def command(code: str, *arguments: object) -> list[str]:
    """A child Python with warnings as errors that runs `code`."""
    return [sys.executable, "-W", "error", "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, arguments)]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Runs code in a child interpreter and waits for its end."""

    def run(code: str, *arguments: object, timeout: float = 40) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(code, *arguments), capture_output=True, text=True, timeout=timeout, cwd=tmp_path, check=False
        )

    return run


def processes_with(marker: str) -> list[int]:
    """Processes whose command line holds a marker."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line:
                found.append(int(entry))
    return found
