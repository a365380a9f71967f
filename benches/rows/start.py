"""Row 12: from nothing to the first result, and the memory that stays."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import host
import rivals
from measure import Case, Goal, Report

FIRST = """
import json, sys, time
def private():
    return sum(int(l.split()[1]) for l in open("/proc/self/smaps_rollup") if l.startswith("Private_"))
before, started = private(), time.perf_counter()
import zuno
imported = time.perf_counter()
runtime = zuno.open(sys.argv[1] + "/state.db")
result = runtime.session(sys.argv[1]).call("read", filePath=sys.argv[1] + "/file.txt")
done = time.perf_counter()
assert result.outcome == "ok", result.output
print(json.dumps([imported - started, done - imported, private() - before]))
"""


def row_12(report: Report) -> None:
    """Each sample is a new process."""
    report.row(12, "import + open + first call; memory above the host")
    memory: list[float] = []
    imports: list[float] = []

    def first() -> float:
        with host.folder() as place:
            (place / "file.txt").write_text(host.text(4096))
            command = [sys.executable, "-c", FIRST, str(place)]
            imported, rest, kilobytes = json.loads(subprocess.check_output(command))
            imports.append(imported)
            memory.append(kilobytes / 1024)
            return float(rest)

    def bare() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    cases = [Case("zuno open + first read", first, 3, timed=True), Case("floor: bare Python start", bare, 3)]
    with host.folder() as place:
        (place / "file.txt").write_text(host.text(4096))

        def server() -> float:
            started = time.perf_counter()
            made = rivals.mcp(place)
            assert made
            made.call("read_text_file", path=str(place / "file.txt"))
            took = time.perf_counter() - started
            made.close()
            return took

        if probe := rivals.mcp(place):
            probe.close()
            cases.append(Case("MCP server start + first read", server, 1, timed=True))
        else:
            report.skip("MCP filesystem server is not installed")
        report.compare(cases, [Goal("zuno open + first read", "", 0.015)])
    report.note("import zuno", sorted(imports)[len(imports) // 2] * 1000, "ms")
    report.note("private memory above the host", sorted(memory)[len(memory) // 2], "MiB", "12 MiB")
