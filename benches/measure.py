"""Rounds, medians and the table."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Case:
    """One thing that is timed: a function that does it once, or one that times itself and returns seconds."""

    name: str
    run: Callable[[], object]
    count: int = 200
    timed: bool = False
    rounds: list[float] = field(default_factory=list)

    def round(self) -> None:
        """The median of `count` runs."""
        samples = []
        for _ in range(self.count):
            started = time.perf_counter()
            given = self.run()
            took = time.perf_counter() - started
            samples.append(given if self.timed and isinstance(given, float) else took)
        self.rounds.append(statistics.median(samples))

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)


@dataclass
class Goal:
    """A ratio between two cases, or with `rival` empty an absolute time in seconds."""

    ours: str
    rival: str
    at_most: float
    stretch: float | None = None


def shown(seconds: float) -> str:
    """A time for people."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


class Report:
    """Collects rows; prints each when it is done."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self._row = 0

    def row(self, number: int, title: str) -> None:
        """Begins a row."""
        self._row = number
        print(f"\nrow {number}: {title}", flush=True)

    def skip(self, what: str) -> None:
        """Says what is not measured, and why."""
        print(f"  skipped: {what}", flush=True)

    def note(self, name: str, value: float, unit: str, goal: str = "") -> None:
        """A number that is no time."""
        print(f"  {name:<44} {value:>9.3g} {unit}{'   goal ' + goal if goal else ''}", flush=True)
        self._line({"case": name, "value": round(value, 4), "unit": unit, "goal": goal or None})

    def compare(self, cases: list[Case], goals: list[Goal] | None = None) -> None:
        """Runs the cases in turn, round after round, and prints them with the goals."""
        for case in cases:
            case.run()
        for _ in range(self.rounds):
            for case in cases:
                gc.collect()
                case.round()
        self.show(cases, goals)

    def show(self, cases: list[Case], goals: list[Goal] | None = None) -> None:
        """Prints cases that have their rounds."""
        known = {case.name: case for case in cases}
        for case in cases:
            low, high = min(case.rounds), max(case.rounds)
            print(f"  {case.name:<44} {shown(case.median):>9}   ({shown(low)} to {shown(high)})", flush=True)
            self._line({
                "case": case.name,
                "medianUs": round(case.median * 1e6, 2),
                "roundsUs": [round(one * 1e6, 2) for one in case.rounds],
            })  # fmt: skip
        for goal in goals or []:
            self._goal(known, goal)

    def _goal(self, known: dict[str, Case], goal: Goal) -> None:
        ours = known[goal.ours]
        if goal.rival and goal.rival not in known:
            return
        stretch = ""
        if goal.rival:
            # Each round against its own: what slows the machine down slows both.
            pairs = zip(ours.rounds, known[goal.rival].rounds, strict=True)
            value = statistics.median(one / other for one, other in pairs)
            wanted = f"{goal.at_most:.3g}"
            stretch = f", stretch {goal.stretch:.3g}" if goal.stretch else ""
            text = f"{goal.ours} / {goal.rival} = {value:.3g}"
        else:
            value, wanted = ours.median, shown(goal.at_most)
            text = f"{goal.ours} = {shown(value)}"
        word = "met" if value <= goal.at_most else "not met"
        print(f"  -> {text}   goal {wanted}{stretch}: {word}", flush=True)
        self._line({"goal": text, "value": round(value, 6), "atMost": goal.at_most, "stretch": goal.stretch})

    def _line(self, values: dict[str, object]) -> None:
        print("  " + json.dumps({"row": self._row, **values}, ensure_ascii=False), flush=True)
