"""What a host's handlers are given, and what they may answer."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, Union

from ._records import Record, wrap
from ._results import Continuation, ErrorKind, Outcome


class Allow(enum.Enum):
    """Yes, to an approval request."""

    ONCE = "once"
    """This call only."""
    ALWAYS = "always"
    """This call, and what the request offers for the rest of the session."""


@dataclass(frozen=True, slots=True)
class Deny:
    """No, to an approval request. The reason is given to the model."""

    reason: str = ""


Decision: TypeAlias = Union[Allow, Deny]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Somebody has to allow a call."""

    id: str
    session_id: str
    message_id: str
    call_id: str
    tool: str
    kind: Literal["rule", "risk", "strict"]
    asks: list[Record]
    choices: list[str]
    preview: Any
    metadata: Record
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def summary(self) -> str:
        """One line: what would happen."""
        command = self.metadata.get("command")
        if isinstance(command, str):
            return f"{self.tool}: {command}"
        patterns = [pattern for ask in self.asks for pattern in ask["patterns"]]
        return f"{self.tool}: {', '.join(patterns)}" if patterns else self.tool

    @property
    def diff(self) -> str | None:
        """The unified diff of what would be written; `None` for calls that write no file."""
        if isinstance(self.preview, str) and self.tool in ("write", "edit", "apply_patch"):
            return self.preview
        found = self.raw["preview"].get("diff") if isinstance(self.raw.get("preview"), Mapping) else None
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command that is about to run, with the environment it would see."""

    session_id: str
    call_id: str
    command: str
    workdir: str
    env: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BeforeCall:
    """A call that is about to be judged."""

    session_id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    effect: str
    replay: str
    concurrency: str


@dataclass(frozen=True, slots=True)
class AfterCall:
    """A call that has run and is about to be settled."""

    session_id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    outcome: Outcome
    title: str
    output: str
    metadata: Record


@dataclass(frozen=True, slots=True)
class Block:
    """A before-call hook's no. The reason is given to the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A before-call hook's other arguments; they are validated and judged like the first ones."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a host tool was called. A parameter with this annotation receives it."""

    tool: str
    session_id: str
    message_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A host tool's answer, when text alone does not do."""

    output: str
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attachments: Sequence[Mapping[str, Any]] = ()
    continuation: Continuation = "continue"


class ToolError(Exception):
    """Raised by a host tool to say how it failed. Any other exception means that the handler itself failed."""

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "Failed",
        code: str | None = None,
        applied_paths: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.applied_paths = list(applied_paths)


class Approve(Protocol):
    """Decides an approval request; plain or `async`, may take a second or a week."""

    def __call__(self, request: ApprovalRequest, /) -> Decision | Awaitable[Decision]: ...


class Environment(Protocol):
    """Answers with the whole environment a command shall see; `None` leaves it as it is."""

    def __call__(self, command: Command, /) -> Mapping[str, str] | None | Awaitable[Mapping[str, str] | None]: ...


BeforeHook: TypeAlias = Callable[[BeforeCall], Union[Block, Rewrite, None, Awaitable[Union[Block, Rewrite, None]]]]
AfterHook: TypeAlias = Callable[[AfterCall], Union[Mapping[str, Any], None, Awaitable[Union[Mapping[str, Any], None]]]]


class BadAnswer(Exception):
    """A handler answered something that is no answer to its request."""


def approval_request(payload: Mapping[str, Any]) -> ApprovalRequest:
    return ApprovalRequest(
        payload["id"],
        payload["sessionId"],
        payload["messageId"],
        payload["callId"],
        payload["tool"],
        payload["kind"],
        wrap(payload["asks"]),
        payload["choices"],
        wrap(payload.get("preview")),
        Record(payload.get("metadata") or {}),
        payload,
    )


def approval_answer(_payload: Mapping[str, Any], answer: object) -> dict[str, Any]:
    if isinstance(answer, Allow):
        return {"reply": answer.value}
    if isinstance(answer, Deny):
        return {"reply": "reject", "message": answer.reason or None}
    raise BadAnswer(f"answered {answer!r}; answer zuno.Allow.ONCE, zuno.Allow.ALWAYS or zuno.Deny(reason)")


def command(payload: Mapping[str, Any]) -> Command:
    return Command(
        payload["sessionId"], payload["callId"], payload["command"], payload["workdir"], dict(payload["env"])
    )


def environment_answer(payload: Mapping[str, Any], answer: object) -> dict[str, Any]:
    if answer is None:
        return {"set": {}, "remove": []}
    if not isinstance(answer, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in answer.items()
    ):
        raise BadAnswer(f"answered {answer!r}; answer a mapping of strings, or None to leave everything as it is")
    before = payload["env"]
    changed = {name: value for name, value in answer.items() if before.get(name) != value}
    return {"set": changed, "remove": [name for name in before if name not in answer]}


def before_call(payload: Mapping[str, Any]) -> BeforeCall:
    return BeforeCall(
        payload["sessionId"],
        payload["callId"],
        payload["tool"],
        payload["arguments"],
        payload["effect"],
        payload["replay"],
        payload["concurrency"],
    )


def before_answer(_payload: Mapping[str, Any], answer: object) -> dict[str, Any]:
    if answer is None:
        return {"decision": "continue"}
    if isinstance(answer, Block):
        return {"decision": "block", "reason": answer.reason}
    if isinstance(answer, Rewrite):
        return {"decision": "rewrite", "arguments": dict(answer.arguments)}
    raise BadAnswer(f"answered {answer!r}; answer None, zuno.Block(reason) or zuno.Rewrite(arguments)")


def after_call(payload: Mapping[str, Any]) -> AfterCall:
    return AfterCall(
        payload["sessionId"],
        payload["callId"],
        payload["tool"],
        payload["arguments"],
        payload["outcome"],
        payload["title"],
        payload["output"],
        Record(payload["metadata"]),
    )


def after_answer(_payload: Mapping[str, Any], answer: object) -> dict[str, Any]:
    if answer is None:
        return {"metadata": {}}
    if isinstance(answer, Mapping):
        return {"metadata": dict(answer)}
    raise BadAnswer(f"answered {answer!r}; answer a mapping of metadata, or None")
