"""What a runtime can do without waiting, the same in both faces: registering, and the protocol itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from . import _ops as ops
from ._declare import declare
from ._handlers import Handlers
from ._host import AfterHook, BeforeHook
from ._json import dumps, loads
from ._results import Concurrency, Effect, Replay
from ._zuno import Core

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Before = TypeVar("Before", bound=BeforeHook)
After = TypeVar("After", bound=AfterHook)


class Engine(Protocol):
    """What both engines have."""

    core: Core
    handlers: Handlers
    closed: bool

    def abandon(self) -> None:
        """Closes without waiting."""


class RuntimeBase:
    """Shared by `zuno.Runtime` and `zuno.aio.Runtime`."""

    def __init__(self, engine: Engine) -> None:
        self._base = engine

    def _now(self, operation: ops.Operation[T]) -> T:
        """For registrations: they touch neither the disk nor the host, so waiting for them is no wait."""
        return operation.decode(loads(self._base.core.call(operation.method, dumps(operation.params))))

    def tool(
        self,
        *,
        effect: Effect | None = None,
        replay: Replay | None = None,
        concurrency: Concurrency | None = None,
        name: str | None = None,
        description: str | None = None,
        permission: Mapping[str, Any] | None = None,
        timeout_ms: int | None = None,
        surface: str | None = None,
        replace: bool | None = None,
    ) -> Callable[[F], F]:
        """Registers a function as a tool: its schema comes from the signature, its description from the docstring.
        What is not declared counts as the strictest: side-effecting, never replayed, exclusive."""
        options = {
            "effect": effect,
            "replay": replay,
            "concurrency": concurrency,
            "permission": permission,
            "timeout_ms": timeout_ms,
            "surface": surface,
            "replace": replace,
        }

        def register(function: F) -> F:
            tool = declare(function, name, description, options)
            self._now(ops.register_tool(tool.declaration))
            self._base.handlers.tools[tool.name] = tool
            return function

        return register

    def before_call(self, function: Before, *, tools: Sequence[str] | None = None) -> Before:
        """Registers a hook that sees a call before it is judged and may answer `Block` or `Rewrite`."""
        self._base.handlers.hooks[self._now(ops.register_hook("beforeCall", tools))] = function
        return function

    def after_call(self, function: After, *, tools: Sequence[str] | None = None) -> After:
        """Registers a hook that sees a call before it is settled and may answer further metadata."""
        self._base.handlers.hooks[self._now(ops.register_hook("afterCall", tools))] = function
        return function

    def start(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Starts a method of the protocol; exactly one ``op`` item with this id comes out of `next`."""
        return self._base.core.start(method, dumps(params or {}))

    def cancel(self, op: int) -> bool:
        """Cancels an operation; says whether it was still running."""
        return self._base.core.cancel(op)

    def respond(self, request_id: str, answer: Mapping[str, Any]) -> bool:
        """Answers a request; says whether the answer was still wanted."""
        return self._base.core.respond(request_id, dumps(answer))

    def fail(self, request_id: str, code: str, message: str) -> bool:
        """Answers a request with an error; says whether the answer was still wanted."""
        return self._base.core.fail(request_id, code, message)

    @property
    def closed(self) -> bool:
        """Whether the runtime was closed."""
        return self._base.closed

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}({'closed' if self.closed else 'open'})"

    def __del__(self) -> None:
        engine: Engine | None = getattr(self, "_base", None)
        if engine is None or engine.closed or engine.core.forked:
            return
        engine.abandon()
        warnings.warn(f"unclosed {self!r}; close it or use a with block", ResourceWarning, stacklevel=2, source=self)
