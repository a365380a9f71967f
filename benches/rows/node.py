"""The Node half of rows 1 and 14."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import host
import setup
from measure import Case, Goal, Report

SCRIPT = Path(__file__).with_name("node.mjs")


def rows(report: Report, wanted: set[int]) -> None:
    """Runs the Node script and shows its rounds."""
    report.row(min(wanted & {1, 14}), "Node: read 4 KB; host round trip")
    if not (setup.NODE / "dist").is_dir():
        report.skip("the Node package is not compiled; `make node` does that")
        return
    with host.folder() as place:
        (place / "file.txt").write_text(host.text(4096))
        command = ["node", str(SCRIPT), str(setup.NODE), str(place), str(report.rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        report.skip(f"the Node script failed: {done.stderr.strip()[-300:]}")
        return
    rounds = json.loads(done.stdout)
    cases = [Case(name, lambda: None, rounds=values) for name, values in rounds.items()]
    report.show(cases, [Goal("round trip (difference), Node", "", 40e-6)])
