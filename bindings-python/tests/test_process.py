"""The process around the library: exit, fork, signals, threads, sudden death. Each in a child of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from conftest import Script, command, processes_with

SETUP = """
import asyncio, os, signal, sys, threading, time, zuno
database, workspace, marker = sys.argv[1:4]
UNCONFINED = {"sandbox": {"mode": "danger-full-access"}}
"""


@pytest.fixture
def marker() -> str:
    """Something to find our commands by: `sleep` takes any number of digits behind the point."""
    return f"500.{uuid.uuid4().int % 10**12:012d}"


def _gone(marker: str, within: float = 5.0) -> bool:
    until = time.monotonic() + within
    while processes_with(marker):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


BUSY = {
    "a daemon thread in a call": """
runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
threading.Thread(target=session.shell, args=(f"touch started; sleep {marker}",), daemon=True).start()
""",
    "a reader of events": """
runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
threading.Thread(target=lambda: list(session.events()), daemon=True).start()
threading.Thread(target=session.shell, args=(f"touch started; sleep {marker}",), daemon=True).start()
""",
    "a handler that never answers": """
def approve(request):
    open(os.path.join(workspace, "started"), "w").close()
    threading.Event().wait()
runtime = zuno.open(database, config={"sandbox": {"onUnavailable": "run-unconfined"}}, approve=approve)
session = runtime.session(workspace)
threading.Thread(target=session.shell, args=(f"sleep {marker}",), daemon=True).start()
""",
    "an async handler that never answers": """
async def approve(request):
    open(os.path.join(workspace, "started"), "w").close()
    await asyncio.Event().wait()
runtime = zuno.open(database, config={"sandbox": {"onUnavailable": "run-unconfined"}}, approve=approve)
session = runtime.session(workspace)
threading.Thread(target=session.shell, args=(f"sleep {marker}",), daemon=True).start()
""",
    "an operation": """
runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
call = {"name": "shell", "arguments": {"command": f"touch started; sleep {marker}"}}
runtime.start("session.dispatch", {"sessionId": session.id, "calls": [call]})
""",
}
ENDS = {"the end of the program": "", "sys.exit": "sys.exit(3)", "an exception": "raise ValueError('the end')"}


@pytest.mark.parametrize("busy", BUSY)
@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_ends_while_busy(
    script: Script, database: Path, workspace: Path, marker: str, busy: str, end: str
) -> None:
    # case: 94
    waiting = "while not os.path.exists(os.path.join(workspace, 'started')): time.sleep(0.01)\n"
    done = script(SETUP + BUSY[busy] + waiting + ENDS[end], database, workspace, marker)
    assert done.returncode == {"sys.exit": 3, "an exception": 1}.get(end, 0), done.stderr
    assert "Fatal" not in done.stderr and "panicked" not in done.stderr
    assert _gone(marker)


def test_an_asyncio_host_ends_while_busy(script: Script, database: Path, workspace: Path, marker: str) -> None:
    # case: 94
    done = script(
        SETUP
        + """
async def main():
    async with zuno.aio.open(database, config=UNCONFINED) as runtime:
        session = await runtime.session(workspace)
        task = asyncio.create_task(session.shell(f"touch started; sleep {marker}"))
        while not os.path.exists(os.path.join(workspace, "started")):
            await asyncio.sleep(0.01)
asyncio.run(main())
print("ended")
""",
        database,
        workspace,
        marker,
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    assert _gone(marker)


def test_a_killed_host_leaves_no_process(database: Path, workspace: Path, marker: str) -> None:
    # case: 94
    code = (
        SETUP
        + """
runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
session.shell(f"(setsid sleep {marker} &) ; sleep {marker} & touch started; sleep {marker}")
"""
    )
    host = subprocess.Popen(command(code, database, workspace, marker))
    try:
        while not (workspace / "started").exists():
            assert host.poll() is None
            time.sleep(0.01)
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert _gone(marker)


def test_ctrl_c_ends_a_call_and_stops_its_command(database: Path, workspace: Path, marker: str) -> None:
    code = (
        SETUP
        + """
with zuno.open(database, config=UNCONFINED) as runtime:
    session = runtime.session(workspace)
    try:
        session.shell(f"touch started; sleep {marker}")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(session.read("a.py").outcome, [call["tool"] for call in session.unsettled()])
"""
    )
    host = subprocess.Popen(command(code, database, workspace, marker), stdout=subprocess.PIPE, text=True)
    while not (workspace / "started").exists():
        assert host.poll() is None
        time.sleep(0.01)
    host.send_signal(signal.SIGINT)
    out, _ = host.communicate(timeout=20)
    assert out.splitlines() == ["interrupted", "ok ['shell']"]
    assert host.returncode == 0
    assert _gone(marker)


def test_ctrl_c_ends_waiting_for_events(database: Path, workspace: Path) -> None:
    code = (
        SETUP
        + """
with zuno.open(database) as runtime:
    events = runtime.session(workspace).events()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while events.next() is not None:
            pass
    except KeyboardInterrupt:
        print("interrupted")
"""
    )
    done = subprocess.run(
        command(code, database, workspace, ""), capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


FORK = """
def attempts():
    tries = {
        "read": lambda: session.read("a.py"),
        "call": lambda: runtime.call("runtime.config"),
        "start": lambda: runtime.start("runtime.config"),
        "respond": lambda: runtime.respond("req_1", {}),
        "events": lambda: session.events(),
        "open": lambda: zuno.open(database),
        "open another": lambda: zuno.open(":memory:"),
    }
    for name, attempt in tries.items():
        try:
            attempt()
            return f"{name} did not fail"
        except zuno.ForkError as error:
            assert error.code == "closed.forked", error.code
    return "fine"

runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
session.read("a.py").check()
"""


@pytest.mark.parametrize(
    "how",
    [
        """
import multiprocessing
context = multiprocessing.get_context("fork")
queue = context.Queue()
child = context.Process(target=lambda: queue.put(attempts()))
child.start()
print(queue.get(timeout=20))
child.join(20)
print("child", child.exitcode)
""",
        """
pid = os.fork()
if pid == 0:
    print(attempts(), flush=True)
    del session, runtime
    import gc; gc.collect()
    sys.exit(0)
print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""",
        """
pid = os.fork()
if pid == 0:
    with runtime:
        print(attempts(), flush=True)
    sys.exit(0)
print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""",
    ],
    ids=["multiprocessing", "collected in the child", "closed in the child"],
)
def test_a_forked_child_is_told_and_never_hangs(script: Script, database: Path, workspace: Path, how: str) -> None:
    # case: 100
    after = "\nprint(session.read('a.py').outcome)\nruntime.close()\n"
    done = script(SETUP + FORK + how + after, database, workspace, "")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["fine", "child 0", "ok"], done.stderr


def test_a_child_forked_in_the_middle_of_a_call_does_not_hang(script: Script, database: Path, workspace: Path) -> None:
    # case: 100
    done = script(
        SETUP
        + FORK
        + """
def busy():
    while not stop.is_set():
        session.dispatch([zuno.Call("read", filePath="a.py") for _ in range(4)])
stop = threading.Event()
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
codes = []
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if attempts() == "fine" else 1)
    codes.append(os.waitpid(pid, 0)[1])
stop.set()
for thread in threads: thread.join()
print(set(codes), session.read("a.py").outcome)
runtime.close()
""",
        database,
        workspace,
        "",
    )
    assert done.stdout == "{0} ok\n", done.stderr


def test_a_child_forked_before_the_first_use_is_fine(script: Script, tmp_path: Path, workspace: Path) -> None:
    # case: 100
    done = script(
        SETUP
        + """
pids = []
for number in range(2):
    pid = os.fork()
    if pid == 0:
        with zuno.open(os.path.join(database, f"{number}.db")) as runtime:
            ok = runtime.session(workspace).read("a.py").ok
        sys.exit(0 if ok else 1)
    pids.append(pid)
print([os.waitpid(pid, 0)[1] for pid in pids])
""",
        tmp_path,
        workspace,
        "",
    )
    assert done.stdout == "[0, 0]\n", done.stderr


def test_other_threads_run_while_one_waits(script: Script, database: Path, workspace: Path) -> None:
    # case: 101
    done = script(
        SETUP
        + """
count = 0
def counting():
    global count
    while not done.is_set():
        count += 1
done = threading.Event()
during = []
def approve(request):
    during.append(count)
    return zuno.Allow.ONCE
with zuno.open(database, config={"sandbox": {"onUnavailable": "run-unconfined"}}, approve=approve) as runtime:
    session = runtime.session(workspace)
    counter = threading.Thread(target=counting)
    counter.start()
    result = session.shell("sleep 1")
    after = count
    done.set()
    counter.join()
assert result.ok, result.output
assert len(during) == 1 and after - during[0] > 10_000, (during, after)
print("counted")
""",
        database,
        workspace,
        "",
    )
    assert done.stdout == "counted\n", done.stderr


def test_a_runtime_that_is_dropped_open_warns_and_ends(
    script: Script, database: Path, workspace: Path, marker: str
) -> None:
    # case: 94
    done = script(
        SETUP
        + """
import gc, warnings
runtime = zuno.open(database, config=UNCONFINED)
session = runtime.session(workspace)
op = runtime.start("session.dispatch", {"sessionId": session.id,
    "calls": [{"name": "shell", "arguments": {"command": f"touch started; sleep {marker}"}}]})
while not os.path.exists(os.path.join(workspace, "started")): time.sleep(0.01)
core = runtime._engine.core
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del runtime, session
    gc.collect()
print([str(w.category.__name__) for w in caught])
until = time.monotonic() + 10
while time.monotonic() < until:
    try:
        core.call("runtime.config", "{}")
    except zuno.ClosedError:
        print("closed")
        break
    time.sleep(0.01)
""",
        database,
        workspace,
        marker,
    )
    assert done.stdout == "['ResourceWarning']\nclosed\n", done.stderr
    assert _gone(marker)


def test_a_session_keeps_its_runtime(script: Script, workspace: Path) -> None:
    done = script(
        SETUP
        + """
session = zuno.open(":memory:").session(workspace)
import gc; gc.collect()
print(session.read("a.py").outcome)
session._runtime.close()
""",
        "",
        workspace,
        "",
    )
    assert done.stdout == "ok\n", done.stderr


def test_the_process_is_left_as_it_was(script: Script, database: Path, workspace: Path) -> None:
    done = script(
        SETUP
        + """
def state():
    with open("/proc/self/status") as file: status = file.read()
    signals = [line for line in status.splitlines() if line.startswith(("SigCgt", "SigIgn", "SigBlk"))]
    return signals, os.getcwd(), dict(os.environ), signal.getsignal(signal.SIGINT), threading.active_count()
# The C library takes a signal for itself when the first thread starts.
first = threading.Thread(target=int)
first.start()
first.join()
before = state()
with zuno.open(database, config=UNCONFINED) as runtime:
    session = runtime.session(workspace)
    session.shell("true").check()
    during = state()[:4]
assert during == before[:4], (during, before)
until = time.monotonic() + 10
while state() != before and time.monotonic() < until:
    time.sleep(0.01)
assert state() == before, (state()[-1], threading.enumerate())
print("same")
""",
        database,
        workspace,
        "",
    )
    assert done.stdout == "same\n", done.stderr


def test_closing_twice_and_from_a_handler(script: Script, database: Path, workspace: Path) -> None:
    done = script(
        SETUP
        + """
def approve(request):
    runtime.close()
    return zuno.Allow.ONCE
runtime = zuno.open(database, approve=approve)
session = runtime.session(workspace)
result = None
try:
    result = session.write("new.txt", "x")
    print(result.outcome)
except zuno.ClosedError:
    print("error")
runtime.close()
runtime.close()
""",
        database,
        workspace,
        "",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("error\n", "blocked\n")
    assert not (workspace / "new.txt").exists()


def test_sigterm_ends_the_commands(database: Path, workspace: Path, marker: str) -> None:
    # case: 94
    code = (
        SETUP
        + """
runtime = zuno.open(database, config=UNCONFINED)
runtime.session(workspace).shell(f"touch started; sleep {marker}")
"""
    )
    host = subprocess.Popen(command(code, database, workspace, marker))
    while not (workspace / "started").exists():
        assert host.poll() is None
        time.sleep(0.01)
    os.kill(host.pid, signal.SIGTERM)
    host.wait(10)
    assert _gone(marker)
