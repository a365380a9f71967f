"""The host is killed at any moment. Afterwards the store opens, nothing has run twice, and every call has one end."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import zuno
from conftest import UNCONFINED, command, processes_with

KILLS = int(os.environ.get("ZUNO_TEST_KILLS", "25"))

HOST = """
import sys, zuno
database, workspace, session_id, number = sys.argv[1:]
with zuno.open(database, config={"sandbox": {"mode": "danger-full-access"}}) as runtime:
    session = runtime.session(id=session_id)
    print("ready", flush=True)
    for call in range(10_000):
        name = f"{number}-{call}"
        session.dispatch([
            zuno.Call("read", {"filePath": "a.py"}, call_id=f"r{name}"),
            zuno.Call("shell", {"command": f"echo {name} >> ran.log; sleep 0.01"}, call_id=f"s{name}"),
            zuno.Call("write", {"filePath": f"w{name}.txt", "content": name}, call_id=f"w{name}"),
        ])
"""


def test_a_host_that_is_killed_leaves_one_record_per_call(database: Path, workspace: Path) -> None:
    # case: 94
    chance = random.Random(20260101)
    with zuno.open(database, config=UNCONFINED) as runtime:
        session_id = runtime.session(workspace).id
    for number in range(KILLS):
        arguments = (database, workspace, session_id, number)
        host = subprocess.Popen(command(HOST, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert host.stdout is not None and host.stderr is not None
        assert host.stdout.readline() == "ready\n", host.stderr.read()
        time.sleep(chance.uniform(0, 0.25))
        host.kill()
        host.wait()
        host.stdout.close()
        host.stderr.close()
    until = time.monotonic() + 5
    while processes_with("ran.log") and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_with("ran.log") == []

    ran = Counter((workspace / "ran.log").read_text().split())
    assert ran and set(ran.values()) == {1}
    with zuno.open(database, config=UNCONFINED) as runtime:
        session = runtime.session(id=session_id)
        calls: list[dict[str, object]] = []
        after = 0
        while page := session.messages(after=after, limit=500):
            after = page[-1]["ordinal"]
            calls += [part for message in page for part in message["parts"]]
        assert set(Counter(call["callId"] for call in calls).values()) == {1}
        assert {call["state"] for call in calls} == {"settled"}
        outcomes = {str(call["callId"]): call["outcome"] for call in calls}
        # Whatever left a trace has a record, and what is recorded as not begun left none.
        assert {f"s{name}" for name in ran} <= outcomes.keys()
        for call_id, outcome in outcomes.items():
            if call_id.startswith("s") and outcome == "ok":
                assert ran[call_id[1:]] == 1
            if call_id.startswith("s") and outcome in ("blocked", "error"):
                assert ran[call_id[1:]] == 0, call_id
        assert session.read("a.py").ok


EIGHT = """
import sys, zuno
database, workspace = sys.argv[1:]
with zuno.open(database, config={"sandbox": {"mode": "danger-full-access"}}) as runtime:
    session = runtime.session(workspace)
    settled = 0
    for _ in range(20):
        settled += sum(r.ok for r in session.dispatch([zuno.Call("read", filePath="a.py") for _ in range(10)]))
    print(session.id, settled)
"""


def test_eight_processes_share_a_store(database: Path, workspace: Path) -> None:
    hosts = [
        subprocess.Popen(command(EIGHT, database, workspace), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    told = []
    for host in hosts:
        out, errors = host.communicate(timeout=55)
        assert host.returncode == 0, errors
        told.append(out.split())
    assert [count for _, count in told] == ["200"] * 8
    with zuno.open(database) as runtime:
        for session_id, _ in told:
            session = runtime.session(id=session_id)
            parts = [part for message in session.messages(limit=500) for part in message["parts"]]
            assert len(parts) == 200 and {part["outcome"] for part in parts} == {"ok"}
