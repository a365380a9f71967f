"""Exceptions of host operations: a stable dotted code, a sentence with the next step, details."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._results import Result


class ZunoError(Exception):
    """An operation did not succeed.

    `code` is stable and dotted, such as ``store.damaged``; the text says what to do next; `details` holds facts for
    programs.
    """

    code: str
    details: Mapping[str, Any]

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}

    @property
    def message(self) -> str:
        """The sentence alone."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.code, self.message, dict(self.details)))


class ArgumentsError(ZunoError, ValueError):
    """What was passed in does not have the form the operation takes (``arguments.*``)."""


class BusyError(ZunoError):
    """Another runtime owns the session (``busy.*``)."""


class ClosedError(ZunoError):
    """The runtime, session, request or question has ended (``closed.*``)."""


class ForkError(ClosedError):
    """The runtime belongs to the process that forked this one (``closed.forked``)."""


class ConflictError(ZunoError):
    """A revision, identity or name is not, or no longer, free or current (``conflict.*``)."""


class HostError(ZunoError):
    """The side that had to answer failed or is gone (``host.*``)."""


class NotFoundError(ZunoError, LookupError):
    """No object has that id (``not_found.*``)."""


class PermissionDenied(ZunoError):
    """A rule, a person or a missing approval handler refused (``permission.*``)."""


class StoreError(ZunoError):
    """The database is damaged, locked, newer, or cannot be written (``store.*``)."""


class UnavailableError(ZunoError):
    """What the operation needs is not installed or switched on (``unavailable.*``, ``sandbox.*``)."""


class CallFailed(ZunoError):
    """A tool call did not end with ``ok``; raised by `Result.check`. `result` is the whole outcome."""

    result: Result

    def __init__(self, result: Result) -> None:
        error = result.error
        code = f"call.{error.code}" if error else f"call.{result.outcome}"
        super().__init__(code, error.message if error else result.output, {"callId": result.call_id})
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return (CallFailed, (self.result,))


_BY_PREFIX: dict[str, type[ZunoError]] = {
    "arguments": ArgumentsError,
    "busy": BusyError,
    "closed": ClosedError,
    "conflict": ConflictError,
    "host": HostError,
    "not_found": NotFoundError,
    "permission": PermissionDenied,
    "sandbox": UnavailableError,
    "store": StoreError,
    "unavailable": UnavailableError,
}


def make(code: str, message: str, details: Mapping[str, Any] | None = None) -> ZunoError:
    """The exception of the class that the code belongs to."""
    if code == "closed.forked":
        return ForkError(code, message, details)
    return _BY_PREFIX.get(code.partition(".")[0], ZunoError)(code, message, details)


def from_native(code: str, message: str, details: str) -> ZunoError:
    """Called by the native module."""
    return make(code, message, json.loads(details))
