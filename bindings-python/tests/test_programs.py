"""The programs: the example host and ``python -m zuno``."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "review.py"


def test_the_example_reviews_a_checkout_by_itself(workspace: Path) -> None:
    (workspace / "README.md").write_text("# A checkout\n")
    before = {path.name for path in workspace.iterdir()}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), str(workspace)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if str(workspace) not in line) <= 80
    rows = {line.split()[0]: line for line in lines if line[2:3].isalpha() and "  " in line}
    assert "ok: passed, authoritative" in rows["shell"] and "asked: once" in rows["shell"]
    assert "by rule" in rows["grep"] and "asked: once" in rows["write"]
    assert "blocked: invalid_arguments" in done.stdout and "Did you mean `filePath`?" in done.stdout
    assert "    +# Review notes" in lines
    assert done.stdout.count("(answered by itself)") == 3
    # A confined command needs `.zuno` to be there, so that nobody can make it.
    assert {path.name for path in workspace.iterdir()} - {".zuno"} == before


def test_the_example_listens_to_a_person(workspace: Path) -> None:
    (workspace / "README.md").write_text("# A checkout\n")
    ours, theirs = pty.openpty()
    host = subprocess.Popen(
        [sys.executable, str(EXAMPLE), str(workspace)], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    os.close(theirs)
    # Run the command; write the notes; but not after having seen the diff.
    os.write(ours, b"1\n1\nno\n")
    out, _ = host.communicate(timeout=50)
    os.close(ours)
    text = out.decode()
    assert host.returncode == 0, text
    assert "blocked: denied" in text and "The reviewer said no." in text
    assert not (workspace / "zuno-review.md").exists()


def test_the_doctor_finds_everything_here() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "zuno", "doctor"], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.stderr == ""
    topics = [line.split()[1] for line in done.stdout.splitlines()[:5]]
    assert topics == ["zuno", "platform", "store", "ripgrep", "sandbox"]
    assert done.returncode == (0 if "Everything is there." in done.stdout else 1)
