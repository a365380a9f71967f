"""
The private native module of `zuno`. Import `zuno` instead.
"""

from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["VERSION", "Core", "error_codes"]

VERSION: Final[str]
"""
Version of the native module; equal to the package's.
"""

@final
class Core:
    """
    A runtime. Documents are JSON texts; any method may be called from any thread.
    """
    def call(self, /, method: str, params: str) -> str:
        """
        Runs a method and waits for its result. Ctrl-C cancels it.
        """
    def cancel(self, /, op: SupportsIndex) -> bool:
        """
        Cancels an operation; says whether it was still running.
        """
    def close(self, /, deadline: SupportsFloat | SupportsIndex) -> None:
        """
        Ends everything within `deadline` seconds. The last item is `closed`. In a forked child this does nothing.
        """
    def drain(self, /, limit: SupportsIndex) -> list[str]:
        """
        Items that are there, at most `limit`.
        """
    def fail(self, /, request: str, code: str, message: str) -> bool:
        """
        Answers a request with an error; says whether the answer was still wanted.
        """
    @property
    def forked(self, /) -> bool:
        """
        Whether this is a child of the process that opened the runtime.
        """
    def next(self, /, timeout: SupportsFloat | SupportsIndex | None = None) -> str | None:
        """
        The next item; `None` when none came in `timeout` seconds (`None` = no limit), or after `closed`.
        """
    @staticmethod
    def open(options: str) -> Core:
        """
        Opens a runtime from its options document.
        """
    def respond(self, /, request: str, answer: str) -> bool:
        """
        Answers a request; says whether the answer was still wanted.
        """
    def set_waker(self, /, callback: Any | None) -> None:
        """
        Sets the function that is called, from a thread of its own, when an empty queue has got an item. `None` ends it.
        """
    def start(self, /, method: str, params: str) -> int:
        """
        Starts a method; one `op` item with this id follows.
        """

def error_codes() -> list[tuple[str, str]]:
    """
    Every dotted code of the library with its meaning.
    """
