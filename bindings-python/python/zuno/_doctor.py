"""``python -m zuno doctor``: what this machine offers, and what to install."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import _options
from ._errors import ZunoError
from ._runtime import Runtime, open
from ._session import Session

State = Literal["ok", "missing", "note"]
_MARKS: dict[State, tuple[str, str]] = {"ok": ("ok", "32"), "missing": ("--", "31"), "note": ("..", "33")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table; `advice` says what to do about it."""

    topic: str
    state: State
    fact: str
    advice: str = ""


def run(database: str | None) -> int:
    """Prints the table; 0 when everything needed is there."""
    findings = examine(database)
    print(render(findings, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def examine(database: str | None) -> list[Finding]:
    """Looks at everything, by using it."""
    findings = [
        Finding("zuno", "ok", f"{_version()}, Python {platform.python_version()}"),
        Finding("platform", *_platform()),
        store(database),
    ]
    with tempfile.TemporaryDirectory(prefix="zuno-doctor-") as folder:
        (Path(folder) / "probe.txt").write_text("needle\n")
        findings.append(_guarded("ripgrep", lambda: ripgrep(folder)))
        findings.append(_guarded("sandbox", lambda: sandbox(folder)))
    return findings


def _version() -> str:
    from ._zuno import VERSION

    return VERSION


def _platform() -> tuple[State, str, str]:
    fact = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if sys.platform == "linux":
        return "ok", fact, ""
    return "note", fact, "Commands are confined on Linux only."


def store(database: str | None) -> Finding:
    """Whether the database can be opened."""
    if database is not None and not os.path.exists(database):
        folder = os.path.dirname(os.path.abspath(database))
        if not os.path.isdir(folder):
            return Finding("store", "missing", f"{folder} does not exist", f"mkdir -p {folder}")
        return Finding("store", "ok", f"{database} would be made at the first use")
    try:
        with open(database or ":memory:"):
            where = database or "opens in memory; `doctor PATH` looks at a database"
            return Finding("store", "ok", where)
    except ZunoError as error:
        return Finding("store", "missing", error.code, error.message)


def _guarded(topic: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except ZunoError as error:
        return Finding(topic, "missing", error.code, error.message)


def _session(runtime: Runtime, folder: str) -> Session:
    return runtime.session(folder)


def ripgrep(folder: str) -> Finding:
    """A search, as a session would make it."""
    with open(":memory:") as runtime:
        result = _session(runtime, folder).grep("needle")
        if result.ok and "probe.txt" in result.output:
            return Finding("ripgrep", "ok", _ripgrep_fact())
    message = result.error.message if result.error is not None else result.output
    return Finding("ripgrep", "missing", message, "pip install 'zuno[rg]', or install ripgrep 14 or newer")


def _ripgrep_fact() -> str:
    search = _options.with_ripgrep({}).get("search", {})
    path = search.get("ripgrep_path") or shutil.which("rg") or "rg"
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    found = re.match(r"ripgrep (\S+)", told)
    return f"{found[1] if found else 'works'} ({path})"


def sandbox(folder: str) -> Finding:
    """A confined command, as a session would run it."""
    with open(":memory:", config={"permission": {"mode": "allow_all"}}) as runtime:
        result = _session(runtime, folder).shell("true")
        if result.ok:
            backend = result.metadata.get("sandboxBackend") or "available"
            return Finding("sandbox", "ok", f"{backend}: commands run confined")
    message = result.error.message if result.error is not None else result.output
    return Finding("sandbox", "missing", message, "apt install bubblewrap, or use a kernel with Landlock")


def render(findings: list[Finding], *, colour: bool) -> str:
    """The table, 80 columns wide at most where its words allow it."""
    lines = []
    for finding in findings:
        word, code = _MARKS[finding.state]
        mark = f"\x1b[{code}m{word}\x1b[0m" if colour else word
        head, *rest = _wrapped(finding.fact)
        lines.append(f" {mark}  {finding.topic:<9} {head}")
        lines.extend(f"     {'':<9} {line}" for line in rest)
        if finding.advice and finding.state != "ok":
            lines.extend(
                f"     {'':<9} {'->' if i == 0 else '  '} {line}" for i, line in enumerate(_wrapped(finding.advice, 61))
            )
    wanting = sum(finding.state == "missing" for finding in findings)
    verdict = "Everything is there." if not wanting else f"{wanting} of {len(findings)} need attention."
    return "\n".join([*lines, "", f" {verdict}"])


def _wrapped(text: str, width: int = 64) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
