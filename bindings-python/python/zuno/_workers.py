"""Daemon threads for the host's handlers: as many as there are handlers at work, so that one that never answers holds
up nothing, and never a reason for the process to stay."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

_IDLE_SECONDS = 5.0

Work = Callable[[], None]


class Workers:
    """A pool that grows by need and shrinks by itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._idle = 0
        self._stopped = False

    def submit(self, work: Work) -> None:
        """Runs `work`, which must not raise, on a thread that is free or new."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                self._queue.put(work)
                return
        threading.Thread(target=self._run, args=(work,), name=self._name, daemon=True).start()

    def stop(self) -> None:
        """Ends the threads that have nothing to do, and the others when they are done."""
        with self._lock:
            self._stopped = True
            for _ in range(self._idle):
                self._queue.put(None)
            self._idle = 0

    def _run(self, work: Work | None) -> None:
        while work is not None:
            work()
            with self._lock:
                if self._stopped:
                    return
                self._idle += 1
            work = self._wait()

    def _wait(self) -> Work | None:
        while True:
            try:
                return self._queue.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    # Empty under the lock: nobody has counted on this thread.
                    if self._queue.empty():
                        self._idle -= 1
                        return None
