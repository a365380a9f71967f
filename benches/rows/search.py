"""Rows 9 and 10: searching a large tree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import host
from measure import Case, Goal, Report

FILES = 50_000
PATTERNS = ("needle_one", "needle_[0-9]+", "fox jumps", "no such words at all")


def _tree(workspace: Path) -> None:
    body = host.text(600)
    for number in range(FILES):
        directory = workspace / f"d{number // 1000:02}" / f"e{number // 100 % 10}"
        if number % 100 == 0:
            directory.mkdir(parents=True, exist_ok=True)
        mark = f"needle_{number}\n" if number % 500 == 0 else ""
        (directory / f"f{number}.py").write_text(mark + body)


def _rg(workspace: Path, *arguments: str) -> None:
    subprocess.run(["rg", *arguments, str(workspace)], stdout=subprocess.DEVNULL, check=False)


def rows(report: Report, wanted: set[int]) -> None:
    """Both rows share one tree."""
    if not shutil.which("rg"):
        for number in sorted(wanted & {9, 10}):
            report.row(number, "search in 50,000 files")
            report.skip("ripgrep is not installed")
        return
    with host.folder() as place, host.opened(place) as (_, session):
        workspace = place / "workspace"
        _tree(workspace)
        if 9 in wanted:
            _grep(report, session, workspace)
        if 10 in wanted:
            report.row(10, "glob over 50,000 files")
            cases = [
                Case("zuno glob", lambda: host.ok(session.call("glob", pattern="**/*.py")), 2),
                Case("floor: rg --files", lambda: _rg(workspace, "--files", "--hidden", "-g", "**/*.py"), 2),
            ]
            report.compare(cases, [Goal("zuno glob", "floor: rg --files", 1.15)])


def _grep(report: Report, session: object, workspace: Path) -> None:
    report.row(9, "grep over 50,000 files, four patterns")
    cases, goals = [], []
    for pattern in PATTERNS:
        ours, bare = f"zuno grep {pattern!r}", f"floor: rg {pattern!r}"
        cases.append(Case(ours, lambda pattern=pattern: host.ok(session.call("grep", pattern=pattern)), 1))  # type: ignore[attr-defined]
        cases.append(Case(bare, lambda pattern=pattern: _rg(workspace, "--hidden", "-n", "-e", pattern), 1))
        goals.append(Goal(ours, bare, 1.05))
    report.compare(cases, goals)
