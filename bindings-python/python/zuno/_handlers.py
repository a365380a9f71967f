"""The host's handlers, and the jobs that requests make of them. The same in both faces: only running a job differs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _host as host
from ._declare import HostTool, tool_answer
from ._errors import ZunoError
from ._json import dumps

CallKey = tuple[str, "str | None", str]
"""Session, message where the request names it, call: call ids are unique inside one message only."""
Encode = Callable[[Mapping[str, Any], object], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Job:
    """A request on its way through a handler."""

    request_id: str
    call: CallKey
    label: str
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    payload: Mapping[str, Any]
    encode: Encode

    def run(self) -> Any:
        """What the handler returns; an awaitable when it is `async`."""
        return self.function(*self.positional, **self.named)

    def answer(self, value: object) -> str:
        """The handler's answer as the wire takes it."""
        return dumps(self.encode(self.payload, value))


class Causes:
    """Exceptions of handlers, kept until the result of their call is read; the oldest go first."""

    LIMIT = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[CallKey, BaseException] = OrderedDict()

    def keep(self, call: CallKey, error: BaseException) -> None:
        with self._lock:
            self._kept[call] = error
            if len(self._kept) > self.LIMIT:
                self._kept.popitem(last=False)

    def drop(self, call: CallKey) -> None:
        with self._lock:
            self._kept.pop(call, None)

    def take(self, part: Mapping[str, Any]) -> BaseException | None:
        """What a handler raised during this call."""
        if not self._kept:
            return None
        session, message, call = part["sessionId"], part["messageId"], part["callId"]
        with self._lock:
            unnamed = self._kept.pop((session, None, call), None)
            return self._kept.pop((session, message, call), unnamed)


@dataclass(slots=True)
class Handlers:
    """What the host installed."""

    approve: host.Approve | None = None
    environment: host.Environment | None = None
    tools: dict[str, HostTool] = field(default_factory=dict)
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def ports(self, extra: tuple[str, ...]) -> list[str]:
        """The ports to open with; tools and hooks may be added at any time."""
        found = ["hostTool", "hook"]
        if self.approve is not None:
            found.append("approval")
        if self.environment is not None:
            found.append("environment")
        return [*found, *(port for port in extra if port not in found)]

    def job(self, item: Mapping[str, Any]) -> Job | None:
        """The job of a request; `None` when no handler is installed for it."""
        kind, payload = item["kind"], item["payload"]
        if kind == "approval" and self.approve is not None:
            request = host.approval_request(payload)
            return _job(item, "approve", self.approve, (request,), {}, host.approval_answer)
        if kind == "environment" and self.environment is not None:
            command = host.command(payload)
            return _job(item, "environment", self.environment, (command,), {}, host.environment_answer)
        if kind == "hostTool" and payload["tool"] in self.tools:
            tool = self.tools[payload["tool"]]
            return _job(item, tool.name, tool.function, (), tool.arguments(payload), tool_answer)
        if kind == "hook" and payload["hookId"] in self.hooks:
            function = self.hooks[payload["hookId"]]
            if payload["hook"] == "beforeCall":
                return _job(item, "before_call", function, (host.before_call(payload),), {}, host.before_answer)
            return _job(item, "after_call", function, (host.after_call(payload),), {}, host.after_answer)
        return None


def _job(
    item: Mapping[str, Any],
    label: str,
    function: Callable[..., Any],
    positional: tuple[Any, ...],
    named: Mapping[str, Any],
    encode: Encode,
) -> Job:
    payload = item["payload"]
    call = (payload["sessionId"], payload.get("messageId"), payload["callId"])
    return Job(item["id"], call, label, function, positional, named, payload, encode)


def failure(job: Job, error: BaseException) -> tuple[str | None, str]:
    """What to tell the library about a handler that did not answer: an answer after all, or the message of `fail`."""
    if isinstance(error, host.ToolError) and job.encode is tool_answer:
        told: dict[str, Any] = {"kind": error.kind, "message": str(error)}
        if error.code is not None:
            told["code"] = error.code
        if error.applied_paths:
            told["appliedPaths"] = error.applied_paths
        return dumps({"error": told}), ""
    if isinstance(error, host.BadAnswer):
        return None, f"The handler `{job.label}` {error}."
    text = error.message if isinstance(error, ZunoError) else str(error)
    return None, f"The handler `{job.label}` raised {type(error).__name__}{': ' if text else ''}{text}"
