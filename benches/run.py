"""`make bench`: rows of the goals next to their rivals. Ratios count, not times; nothing here passes or fails.

python3 benches/run.py [--rounds N] [--no-setup] [row ...]
"""

from __future__ import annotations

import argparse
import os
import sys

import setup

ROWS = (1, 2, 3, 4, 9, 10, 12, 13, 14)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, help=f"of {ROWS}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-setup", action="store_true", help="everything is there already")
    return parser.parse_args()


def _enter() -> None:
    """Goes on in the interpreter that has the rivals, with the release module."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = str(setup.PACKAGE)
    environment["PATH"] = f"{setup.VENV / 'bin'}:{environment.get('PATH', '')}"
    rest = [argument for argument in sys.argv[1:] if argument != "--no-setup"]
    os.execve(setup.PYTHON, [str(setup.PYTHON), __file__, "--no-setup", *rest], environment)


def _measure(wanted: set[int], rounds: int) -> None:
    from measure import Report
    from rows import commands, files, growth, node, round_trip, search, start

    report = Report(rounds)
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}; {rounds} rounds, cases in turn; medians (lowest to highest round)")
    if load > 0.5:
        print("other programs run: times are too long and uncertain, ratios uncertain; repeat when it is quiet")
    single = {
        1: files.row_1, 2: files.row_2, 3: files.row_3, 4: commands.row_4, 12: start.row_12, 13: growth.row_13,
        14: round_trip.row_14,
    }  # fmt: skip
    for number in (number for number in ROWS if number in wanted):
        if number in single:
            single[number](report)
        elif number == 9 or 9 not in wanted:
            search.rows(report, wanted)
    if wanted & {1, 14}:
        node.rows(report, wanted)


def main() -> None:
    given = _arguments()
    if sys.prefix == str(setup.VENV) and os.environ.get("PYTHONPATH") == str(setup.PACKAGE):
        _measure(set(given.rows or ROWS), max(given.rounds, 5))
        return
    if not given.no_setup:
        setup.everything()
    _enter()


if __name__ == "__main__":
    main()
