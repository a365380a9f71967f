"""A small host: it looks over a checkout, asks what to do with its notes, and writes them once you have seen the diff.

    python examples/python/review.py [directory]

Everything a host does is here: a durable session, one batch of calls as a model would send it, approvals that show what
would happen, a question, live progress, and outcomes as data. Without a terminal it answers by itself and says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import zuno

NOTES = "zuno-review.md"
COLOURS = {"ok": "32", "blocked": "33", "error": "31", "uncertain": "35", "dim": "2", "bold": "1"}


class Terminal:
    """Prints, asks, and shows one line of progress in between."""

    def __init__(self) -> None:
        self.interactive = sys.stdin.isatty()
        self.live = sys.stdout.isatty()
        self.colour = self.live and "NO_COLOR" not in os.environ
        self._lock = threading.Lock()
        self._progress = ""
        self._asking = False

    def paint(self, text: str, kind: str) -> str:
        return f"\x1b[{COLOURS[kind]}m{text}\x1b[0m" if self.colour else text

    def say(self, text: str = "") -> None:
        with self._lock:
            self._clear()
            print(text, flush=True)

    def progress(self, text: str) -> None:
        if self.live and not self._asking:
            with self._lock:
                self._clear()
                self._progress = text
                print(self.paint(text, "dim"), end="", flush=True)

    def _clear(self) -> None:
        if self._progress:
            print("\r\x1b[K", end="")
            self._progress = ""

    def ask(self, prompt: str, choices: list[str], default: str) -> str:
        """One of the choices, by its first letters or its number."""
        if not self.interactive:
            self.say(f"  {prompt}  {self.paint(f'-> {default} (answered by itself)', 'bold')}")
            return default
        shown = " / ".join(f"{number} {choice}" for number, choice in enumerate(choices, 1))
        self._asking = True
        try:
            self.say(f"  {prompt}  {shown}")
            while given := input(f"  [{default}] > ").strip().lower():
                for number, choice in enumerate(choices, 1):
                    if given == str(number) or choice.lower().startswith(given):
                        return choice
            return default
        finally:
            self._asking = False


class Review:
    """The host's side of one review."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.permission: dict[tuple[str, str], str] = {}

    def approve(self, request: zuno.ApprovalRequest) -> zuno.Decision:
        """Called by the library, on a thread of its own, whenever the rules leave a call to a person."""
        self.terminal.say(self.terminal.paint(f"\n  May this run?  {request.summary}", "bold"))
        for line in (request.diff or "").splitlines()[:24]:
            kind = {"+": "ok", "-": "error"}.get(line[:1], "dim")
            self.terminal.say("    " + self.terminal.paint(line[:76], kind))
        choices: dict[str, zuno.Decision] = {
            "once": zuno.Allow.ONCE,
            "always": zuno.Allow.ALWAYS,
            "no": zuno.Deny("The reviewer said no."),
        }
        offered = [name for name in choices if name != "always" or "always" in request.choices]
        answer = self.terminal.ask("Allow it?", offered, "once")
        self.permission[request.message_id, request.call_id] = f"asked: {answer}"
        return choices[answer]

    def follow(self, events: zuno.EventStream) -> None:
        """Shows what runs, from the session's events."""
        running: dict[str, str] = {}
        started = time.monotonic()
        while not events.closed:
            event = events.next(timeout=0.2)
            if event is not None and event.type == "tool.dispatch.started":
                running[event.data["callId"]] = event.data["tool"]
            elif event is not None and event.type == "tool.dispatch.completed":
                running.pop(event.data["callId"], None)
            if running:
                self.terminal.progress(f"  {time.monotonic() - started:4.1f} s  {', '.join(running.values())} ...")

    def table(self, outcomes: list[zuno.Result]) -> None:
        """One row per call."""
        self.terminal.say(
            self.terminal.paint(f"\n  {'tool':<15}{'effect':<14}{'permission':<14}{'time':>7}  outcome", "bold")
        )
        for outcome in outcomes:
            unasked = "by rule" if outcome.block_kind is None else "-"
            permission = self.permission.get((outcome.message_id, outcome.call_id), unasked)
            took = f"{outcome.duration * 1000:.0f} ms" if outcome.duration is not None else "-"
            proof: str = outcome.block_kind or (outcome.error.kind if outcome.error else "")
            if outcome.receipt is not None:
                proof = f"{outcome.receipt.outcome}, {outcome.receipt.authority}"
            word = self.terminal.paint(outcome.outcome, outcome.outcome) + (f": {proof}" if proof else "")
            self.terminal.say(f"  {outcome.tool:<15}{outcome.effect:<14}{permission:<14}{took:>7}  {word}")
            if outcome.error is not None:
                self.terminal.say(self.terminal.paint(f"    {outcome.error.message[:74]}", "dim"))


def notes(directory: str, outcomes: list[zuno.Result]) -> str:
    """What the review found, as a page."""
    sources, marks, _, _, listed = outcomes
    found = [line.replace(directory + "/", "") for line in marks.output.splitlines() if line.strip()][:8]
    return "\n".join(
        [
            "# Review notes",
            "",
            f"{len(sources.output.splitlines())} source files, {listed.output.split()[0]} entries at the top.",
            "",
            "```",
            *found,
            "```",
            "",
        ]
    )


def review(directory: Path, terminal: Terminal, database: Path) -> int:
    host = Review(terminal)
    config = {"sandbox": {"onUnavailable": "run-unconfined"}}
    with zuno.open(database, approve=host.approve, config=config) as runtime:
        session = runtime.session(directory, title="review")
        terminal.say(terminal.paint(f"  Review of {session.info.directory}", "bold"))
        if not terminal.interactive:
            terminal.say("  There is no terminal to ask on, so everything is answered by itself.")
        events = session.events(live=False)
        follower = threading.Thread(target=host.follow, args=(events,), daemon=True)
        follower.start()

        outcomes = session.dispatch(
            [
                zuno.Call("glob", pattern="**/*.{c,go,js,py,rs,ts}"),
                zuno.Call("grep", pattern="TODO|FIXME|XXX"),
                zuno.Call("read", filePath="README.md", limit=40),
                zuno.Call("read", filepath="README.md"),  # a slip of the pen, as models make them
                zuno.Call("shell", command="ls | wc -l | tr -d ' '"),
            ]
        )
        asked = session.call(
            "question_async",
            questions=[
                {
                    "header": "Notes",
                    "question": f"Write the notes to {NOTES}?",
                    "options": [
                        {"label": "Write", "description": "Shows the diff first."},
                        {"label": "Skip", "description": "Nothing is written."},
                    ],
                }
            ],
        )
        outcomes.append(asked)
        answers = []
        for question in session.questions.pending():
            for item in question.items:
                terminal.say()
                answers.append(terminal.ask(item.question, [option["label"] for option in item["options"]], "Write"))
                question.answer({item.id: [answers[-1]]})
        if "Write" in answers:
            outcomes.append(session.write(NOTES, notes(session.info.directory, outcomes[:5])))

        events.close()
        follower.join()
        host.table(outcomes)
        written = [path for outcome in outcomes for path in outcome.written_paths]
    for path in written:
        if not terminal.interactive:
            Path(path).unlink()
            terminal.say(f"\n  Wrote {path}\n  and removed it again: nobody is here to want it.")
        else:
            terminal.say(f"\n  Wrote {path}")
    return 0 if all(outcome.outcome in ("ok", "blocked") for outcome in outcomes) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("directory", nargs="?", type=Path, default=here, help="a checkout; default: this project")
    directory = parser.parse_args().directory
    state = Path(tempfile.mkdtemp(prefix="zuno-review-"))
    try:
        return review(directory, Terminal(), state / "state.db")
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
