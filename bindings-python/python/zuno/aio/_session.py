"""A session and its events, asyncio face."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _ops as ops
from .. import formats
from .._calls import Call
from .._results import Result
from .._streams import EventBuffer
from .._verbs import Verbs
from .._views import Event, SessionInfo, Verdict
from ._questions import Questions

if TYPE_CHECKING:
    from ._runtime import Runtime


class EventStream:
    """Events of a session, one by one. Being subscribed never keeps the process alive, and reading slowly holds up
    nobody: what does not fit is fetched again from the store, and lost live events are announced by a
    ``stream.lagged`` event. Ends when the runtime is closed."""

    def __init__(self, session: Session, buffer: EventBuffer) -> None:
        self._session = session
        self._engine = session._engine
        self._buffer = buffer
        self._subscribed = False

    async def open(self) -> EventStream:
        """Subscribes now rather than with the first read."""
        if not self._subscribed:
            self._subscribed = True
            await self._engine.subscribe(self._buffer)
        return self

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        await self.open()
        found = await self._engine.next_event(self._buffer)
        if found is None:
            raise StopAsyncIteration
        return found

    async def next(self, timeout: float | None = None) -> Event | None:
        """The next event; `None` when none came within `timeout` seconds, or nothing follows."""
        await self.open()
        try:
            return await asyncio.wait_for(self._engine.next_event(self._buffer), timeout)
        except asyncio.TimeoutError:
            return None

    @property
    def closed(self) -> bool:
        """Whether nothing more can arrive; what had arrived may still be read."""
        return self._buffer.closed

    async def close(self) -> None:
        """Ends the subscription."""
        self._engine.unsubscribe(self._buffer)

    async def __aenter__(self) -> EventStream:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Session(Verbs[Coroutine[Any, Any, Result]]):
    """A durable session in one directory. Made by `Runtime.session`."""

    __slots__ = ("_engine", "_runtime", "info")

    def __init__(self, runtime: Runtime, info: SessionInfo) -> None:
        # Held so that the runtime is not collected, and closed, under a session in use.
        self._runtime = runtime
        self._engine = runtime._engine
        self.info = info

    @property
    def questions(self) -> Questions:
        """The session's questions."""
        return Questions(self)

    @property
    def id(self) -> str:
        """Stable, across restarts too."""
        return self.info.id

    def __repr__(self) -> str:
        return f"Session({self.id}, {self.info.directory!r})"

    async def _one(self, call: Call) -> Result:
        return await self._engine.run(ops.one_call(self.id, call, self._engine.causes.take))

    async def dispatch(
        self, calls: Iterable[Call], *, final: bool = False, message_id: str | None = None
    ) -> list[Result]:
        """Runs the calls of one model message: validated, permitted, grouped, executed, settled, recorded. One result
        per call, in call order. `final` ends the turn; the same `message_id` twice runs nothing twice."""
        return await self._engine.run(ops.dispatch(self.id, list(calls), final, message_id, self._engine.causes.take))

    async def dispatch_openai(self, tool_calls: Iterable[Any], *, responses: bool = False) -> list[dict[str, Any]]:
        """Runs a message's `tool_calls`, or a response's `function_call` items; returns the messages to send back."""
        return formats.openai_messages(await self.dispatch(formats.openai_calls(tool_calls)), responses=responses)

    async def dispatch_anthropic(self, content: Iterable[Any]) -> dict[str, Any]:
        """Runs the `tool_use` blocks of a message's content; returns the user message to send back."""
        return formats.anthropic_message(await self.dispatch(formats.anthropic_calls(content)))

    async def dispatch_mcp(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Runs a `tools/call` request; returns its result."""
        return formats.mcp_result(await self._one(formats.mcp_call(params)))

    async def tools(self, format: ops.ToolFormat = "native") -> list[dict[str, Any]]:
        """Schemas of the tools this session shows, in the form of a provider."""
        return await self._engine.run(ops.session_tools(self.id, format))

    def events(self, *, after: int | None = None, live: bool = True, types: Sequence[str] | None = None) -> EventStream:
        """Follows the session; with `after` from a stored event on, without gap or repetition."""
        return EventStream(self, EventBuffer(self.id, after, live, types))

    async def history(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Stored events with a number above `after`."""
        return await self._engine.run(ops.read_events(self.id, after, limit))

    async def messages(self, *, after: int | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Stored messages with their calls, after an ordinal."""
        return await self._engine.run(ops.messages(self.id, after, limit))

    async def interrupt(self, reason: ops.InterruptReason = "user_cancel") -> bool:
        """Cancels what runs; says whether anything did."""
        return await self._engine.run(ops.interrupt(self.id, reason))

    async def unsettled(self) -> list[dict[str, Any]]:
        """Calls whose effect is in doubt and that nobody has looked at."""
        return await self._engine.run(ops.unsettled(self.id))

    async def reconcile(
        self, call_id: str, verdict: Verdict, evidence: str, *, message_id: str | None = None
    ) -> dict[str, Any]:
        """Says what happened to a call in doubt; once per call."""
        return await self._engine.run(ops.reconcile(self.id, call_id, verdict, evidence, message_id))

    async def refresh(self) -> SessionInfo:
        """Reads the record again."""
        self.info = await self._engine.run(ops.get_session(self.id))
        return self.info

    async def close(self) -> SessionInfo:
        """Stops what runs and gives the session up; `Runtime.session(id=...)` makes it active again."""
        self.info = await self._engine.run(ops.close_session(self.id))
        return self.info

    async def archive(self) -> SessionInfo:
        """Closes and archives."""
        self.info = await self._engine.run(ops.archive_session(self.id))
        return self.info

    async def delete(self) -> bool:
        """Removes the session and everything it recorded, for good."""
        return await self._engine.run(ops.delete_session(self.id))
