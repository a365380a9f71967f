"""``python -m zuno``"""

import argparse
import sys

from . import __version__, _doctor


def main() -> int:
    """Runs a command of the command line."""
    parser = argparse.ArgumentParser(prog="python -m zuno", description="The tool runtime that applications embed.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="print what this machine offers and what to install")
    doctor.add_argument("database", nargs="?", help="a database to look at too")
    arguments = parser.parse_args()
    return _doctor.run(arguments.database)


if __name__ == "__main__":
    sys.exit(main())
