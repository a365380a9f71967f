"""How a call ended, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._errors import CallFailed
from ._records import Record, TypedRecord, wrap

Outcome = Literal["ok", "blocked", "error", "uncertain"]
BlockKind = Literal["invalid_arguments", "unavailable", "denied"]
Effect = Literal["ReadOnly", "UserMediated", "Delegating", "SideEffecting"]
Replay = Literal["Never", "Safe"]
Concurrency = Literal["Exclusive", "ParallelSafe", "IsolatedBackground"]
Continuation = Literal["continue", "yieldUntilInput", "waitingForHuman"]
ErrorKind = Literal[
    "InvalidArgs",
    "Unavailable",
    "Denied",
    "MutationConflict",
    "Timeout",
    "NetworkTimeout",
    "Transient",
    "Cancelled",
    "Failed",
    "Uncertain",
]


class Denial(TypedRecord):
    """Who said no, and why."""

    __slots__ = ()
    origin: str
    key: str
    pattern: str | None
    rule: str | None
    reason: str


class Conflict(TypedRecord):
    """What stood against a change of a file, and what to do about it."""

    __slots__ = ()
    kind: str
    resource: str
    relatedResources: list[str] | None
    operationDigest: str
    currentDigest: str | None
    receiptDigest: str | None
    receiptGeneration: int | None
    hunk: Record | None
    candidates: list[int] | None
    nearest: Record | None
    requiredActionKind: str
    requiredAction: str


class Receipt(TypedRecord):
    """What a shell exit status proves."""

    __slots__ = ()
    id: str
    summary: str
    workdir: str
    interpreter: str
    exitPolicy: str
    outcome: Literal["passed", "failed", "unknown"]
    exitCode: int | None
    signal: str | None
    exitAuthority: Literal["authoritative", "derived", "absent"]
    limitation: Record | None
    detail: str | None
    gitHead: str | None
    outputDigest: str | None

    @property
    def authority(self) -> Literal["authoritative", "derived", "absent"]:
        """How far the exit code reaches."""
        return self.exitAuthority


class Uncertainty(TypedRecord):
    """What is known about an effect in doubt."""

    __slots__ = ()
    tool: str
    callId: str
    appliedPaths: list[str]
    cause: str
    observedAt: int
    reconciledAt: int | None


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """The typed error of a call. Fields that its kind does not carry are `None`."""

    kind: ErrorKind
    code: str
    message: str
    field: str | None = None
    suggestion: str | None = None
    denial: Denial | None = None
    conflict: Conflict | None = None
    facts: Record = dataclasses.field(default_factory=lambda: Record({}), repr=False)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that accompanies a result; `url` is a `data:` or `file://` URL."""

    mime: str
    url: str
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One settled call. There is always exactly one per call, in call order."""

    tool: str
    call_id: str
    outcome: Outcome
    block_kind: BlockKind | None
    title: str
    output: str
    error: ToolFailure | None
    metadata: Record = dataclasses.field(repr=False)
    effect: Effect = dataclasses.field(repr=False)
    replay: Replay = dataclasses.field(repr=False)
    concurrency: Concurrency = dataclasses.field(repr=False)
    continuation: Continuation = dataclasses.field(repr=False)
    message_id: str = dataclasses.field(repr=False)
    session_id: str = dataclasses.field(repr=False)
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)
    cause: BaseException | None = dataclasses.field(default=None, repr=False, compare=False)
    """The exception that a handler of the host raised during this call."""

    @property
    def ok(self) -> bool:
        """Whether the tool settled with a result."""
        return self.outcome == "ok"

    @property
    def receipt(self) -> Receipt | None:
        """The verification receipt of a shell command."""
        found = self.raw["metadata"].get("verification")
        return Receipt(found) if found else None

    @property
    def written_paths(self) -> list[str]:
        """Files that exist now and were changed by this call."""
        return list(self.raw["metadata"].get("writtenPaths") or ())

    @property
    def diff(self) -> str | None:
        """The unified diff of what a file tool left on disk."""
        found = self.raw["metadata"].get("diff")
        return found if isinstance(found, str) else None

    @property
    def exit_code(self) -> int | None:
        """The exit code of a shell command."""
        found = self.raw["metadata"].get("exitCode")
        return found if isinstance(found, int) else None

    @property
    def attachments(self) -> list[Attachment]:
        """Files that accompany the result."""
        return [Attachment(item["mime"], item["url"], item.get("filename")) for item in self.raw["attachments"]]

    @property
    def arguments(self) -> Any:
        """The arguments exactly as sent."""
        return self.raw["arguments"]

    @property
    def uncertain(self) -> Uncertainty | None:
        """What is known about an effect in doubt."""
        found = self.raw.get("uncertain")
        return Uncertainty(found) if found else None

    @property
    def duration(self) -> float | None:
        """Seconds from the start of the body to its end; `None` when it did not start."""
        started, completed = self.raw.get("timeStarted"), self.raw.get("timeCompleted")
        return None if started is None or completed is None else (completed - started) / 1000

    def check(self) -> Result:
        """This result when it is ``ok``; otherwise raises `CallFailed`."""
        if self.outcome != "ok":
            raise CallFailed(self) from self.cause
        return self


def failure(raw: Mapping[str, Any]) -> ToolFailure:
    """The error object of a call."""
    denial, conflict = raw.get("denial"), raw.get("conflict")
    return ToolFailure(
        raw["kind"],
        raw["code"],
        raw["message"],
        raw.get("field"),
        raw.get("suggestion"),
        Denial(denial) if denial else None,
        Conflict(conflict) if conflict else None,
        Record(raw),
    )


def result(raw: Mapping[str, Any], cause: BaseException | None = None) -> Result:
    """The durable part of a call."""
    error = raw["error"]
    return Result(
        raw["tool"],
        raw["callId"],
        raw["outcome"],
        raw["blockKind"],
        raw["title"],
        raw["output"],
        failure(error) if error else None,
        wrap(raw["metadata"]),
        raw["effect"],
        raw["replay"],
        raw["concurrency"],
        raw["continuation"],
        raw["messageId"],
        raw["sessionId"],
        raw,
        cause,
    )
