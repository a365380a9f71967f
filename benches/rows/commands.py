"""Row 4: a command that does nothing."""

from __future__ import annotations

import subprocess

import host
from measure import Case, Goal, Report


def row_4(report: Report) -> None:
    """What a command costs beyond bash itself."""
    report.row(4, "shell `true`, not confined")
    with host.folder() as place, host.opened(place) as (_, session):

        def bash() -> None:
            subprocess.run(["/bin/bash", "-c", "true"], check=True, stdin=subprocess.DEVNULL, close_fds=False)

        cases = [
            Case("zuno shell", lambda: host.ok(session.shell("true")), 30),
            Case("floor: bare bash", bash, 30),
        ]
        report.compare(cases, [Goal("zuno shell", "floor: bare bash", 2.2, 1.6)])
