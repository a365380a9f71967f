"""A runtime, sync face."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _ops as ops
from . import _options
from ._base import RuntimeBase
from ._engine import Engine
from ._handlers import Handlers
from ._host import Approve, Decision, Environment
from ._session import Session
from ._views import SessionInfo, ToolInfo, Waiting


def open(
    database: str | os.PathLike[str] | None = None,
    *,
    approve: Approve | None = None,
    environment: Environment | None = None,
    config: Mapping[str, Any] | None = None,
    ports: Sequence[str] = (),
    read_global: bool = False,
    read_environment: bool = False,
    read_project: bool = False,
) -> Runtime:
    """Opens a runtime.

    `database` is a path, ``":memory:"``, or absent for the account's own one. `approve` decides what the rules leave
    to a person; without it such calls are denied. `environment` has the last word on what a command sees. Both may be
    plain or ``async``; they run beside the caller, so they may take their time. `ports` names further requests, which
    then come out of `Runtime.next`.
    """
    handlers = Handlers(approve, environment)
    extra = tuple(ports)
    reads = {"readGlobal": read_global, "readEnvironment": read_environment, "readProject": read_project}
    options = _options.document(handlers, database, config, extra, reads)
    return Runtime(Engine(options, handlers, extra))


class Permissions:
    """``runtime.permissions``: requests that wait for a decision, for hosts that decide elsewhere than in `approve`."""

    __slots__ = ("_engine",)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pending(self, session_id: str | None = None) -> list[dict[str, Any]]:
        """Requests that wait."""
        return self._engine.run(ops.list_permissions(session_id))

    def reply(self, request_id: str, decision: Decision) -> dict[str, Any]:
        """Decides one; exactly one reply counts, a later one raises `ClosedError`."""
        return self._engine.run(ops.reply_permission(request_id, decision))

    def grants(self, session_id: str) -> list[dict[str, Any]]:
        """What `Allow.ALWAYS` has granted in a session."""
        return self._engine.run(ops.grants(session_id))


class Runtime(RuntimeBase):
    """An open runtime; any method from any thread. Close it, or use it in a ``with`` block."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine
        self.permissions = Permissions(engine)

    def session(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        id: str | None = None,
        agent: str | None = None,
        mode: str | None = None,
        title: str | None = None,
        work_state: bool | None = None,
        human_surface: bool | None = None,
        profile: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Session:
        """A new durable session in a directory, or with `id` one that exists."""
        if (directory is None) == (id is None):
            raise TypeError("give either the directory of a new session or the id of one that exists")
        if id is not None:
            return Session(self, self._engine.run(ops.open_session(id)))
        options = {
            "agent": agent,
            "mode": mode,
            "title": title,
            "work_state": work_state,
            "human_surface": human_surface,
            "profile": profile,
            "config": config,
        }
        created = ops.create_session(os.fspath(directory or "."), options)
        return Session(self, self._engine.run(created))

    def sessions(self) -> list[SessionInfo]:
        """Every session of the database."""
        return self._engine.run(ops.list_sessions())

    def tools(self) -> list[ToolInfo]:
        """Every registered tool with its declarations."""
        return self._engine.run(ops.list_tools())

    def waiting(self) -> list[Waiting]:
        """Everything that waits for a person, of every kind, in one list."""
        return self._engine.run(ops.list_waiting())

    def diagnostics(self) -> dict[str, Any]:
        """What this machine offers."""
        return dict(self.call("runtime.diagnostics"))

    def config(self) -> dict[str, Any]:
        """Effective configuration, with the layer of each value."""
        return dict(self.call("runtime.config"))

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Runs a method of the protocol and returns its result."""
        return self._engine.run(ops.raw(method, params))

    def next(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next item that no handler, stream or call of the typed layer has taken; `None` when none came in time,
        or nothing follows."""
        item = self._engine.next_raw(timeout)
        return None if item is None else dict(item)

    def close(self, deadline: float = 5.0) -> None:
        """Ends what runs, within `deadline` seconds; calls in flight end with an outcome of their own."""
        self._engine.close(deadline)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
