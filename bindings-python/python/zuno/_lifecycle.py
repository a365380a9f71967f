"""Runtimes that are open when the interpreter ends are closed first, and a forked child forgets its parent's."""

from __future__ import annotations

import atexit
import os
from typing import Protocol

EXIT_SECONDS = 5.0
"""How long the interpreter's end waits for open runtimes."""


class Closable(Protocol):
    """Something with a runtime behind it."""

    def close_at_exit(self, deadline: float) -> None:
        """Closes it, whatever it is doing, within `deadline` seconds."""


_open: set[Closable] = set()


def opened(engine: Closable) -> None:
    _open.add(engine)


def closed(engine: Closable) -> None:
    _open.discard(engine)


def _at_exit() -> None:
    for engine in list(_open):
        engine.close_at_exit(EXIT_SECONDS)


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)
