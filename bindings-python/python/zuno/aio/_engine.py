"""The asyncio face's machinery: the core wakes the loop, the loop drains the queue and runs handlers as tasks. Plain
handlers run on threads, so one that waits for a person does not stop the loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .. import _lifecycle
from .._errors import ZunoError, make
from .._handlers import Causes, Handlers, Job, failure
from .._json import dumps, loads
from .._ops import Operation
from .._router import Item, Router
from .._streams import EventBuffer
from .._views import Event
from .._workers import Workers
from .._zuno import Core

T = TypeVar("T")
PORTION = 64
"""Items that are taken in one go; between portions the loop does other things."""


class Engine:
    """A runtime bound to the running event loop. Holds no reference to the objects that users hold."""

    def __init__(self, core: Core, handlers: Handlers, raw_ports: tuple[str, ...], workers: Workers) -> None:
        self.loop = asyncio.get_running_loop()
        self.handlers = handlers
        self.causes = Causes()
        self.core = core
        self.closed = False
        self._router = Router(core, handlers, self, raw_ports)
        self._workers = workers
        self._ops: dict[int, asyncio.Future[Item]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._raw: deque[Item] = deque()
        self._waiters: set[asyncio.Future[None]] = set()
        self._ended = asyncio.Event()
        _lifecycle.opened(self)
        core.set_waker(self._wake)

    def _wake(self) -> None:
        # On the native module's thread.
        try:
            self.loop.call_soon_threadsafe(self._drain)
        except RuntimeError:
            self._orphaned()

    def _drain(self) -> None:
        if self.core.forked:
            return
        for text in self.core.drain(PORTION):
            self._router.route(text)

    def _orphaned(self) -> None:
        """The loop is closed: nobody is left to answer, and what was being answered never will be."""
        message = "The event loop that this runtime was opened in is closed."
        for request_id in list(self._tasks):
            self.core.fail(request_id, "host.gone", message)
        while texts := self.core.drain(PORTION):
            for item in map(loads, texts):
                if item["type"] == "request":
                    self.core.fail(item["id"], "host.gone", message)

    def check_loop(self) -> None:
        """Objects of an asyncio runtime belong to the loop it was opened in."""
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeError("this runtime was opened in another event loop; open one in each loop")

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation; cancelling the task cancels the operation."""
        self.check_loop()
        op = self.core.start(operation.method, dumps(operation.params))
        future = self._ops[op] = self.loop.create_future()
        try:
            item = await future
        except asyncio.CancelledError:
            self._ops.pop(op, None)
            if not future.done() or future.cancelled():
                self._router.unheard(op)
                self.core.cancel(op)
            raise
        error = item["error"]
        if error is not None:
            raise make(error["code"], error["message"], error["details"])
        return operation.decode(item["result"])

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Runs something that blocks, on a thread of this runtime."""
        return await in_thread(self._workers, work)

    # What the router asks for.

    def serve(self, job: Job) -> None:
        task = self.loop.create_task(self._answer(job), name=f"zuno-{job.label}")
        self._tasks[job.request_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(job.request_id, None))

    async def _answer(self, job: Job) -> None:
        try:
            if _is_async(job.function):
                value = await job.run()
            else:
                value = await self.in_thread(job.run)
                if inspect.isawaitable(value):
                    value = await value
            self.core.respond(job.request_id, job.answer(value))
        except asyncio.CancelledError:
            with contextlib.suppress(ZunoError):
                self.core.fail(job.request_id, "host.gone", f"The task of the handler `{job.label}` was cancelled.")
            raise
        except HandlerStopped as stopped:
            self._refuse(job, stopped.error)
        except BaseException as error:  # one that went on would end the loop
            self._refuse(job, error)

    def _refuse(self, job: Job, error: BaseException) -> None:
        answer, message = failure(job, error)
        with contextlib.suppress(ZunoError):
            if answer is not None:
                self.core.respond(job.request_id, answer)
                return
            # Kept first: the call may end, and its result be read, before `fail` returns.
            self.causes.keep(job.call, error)
            if not self.core.fail(job.request_id, "host.failed", message):
                self.causes.drop(job.call)

    def withdraw(self, request_id: str) -> None:
        task = self._tasks.get(request_id)
        if task is not None:
            task.cancel()

    def settle(self, item: Item) -> bool:
        future = self._ops.pop(item["id"], None)
        if future is None:
            return False
        if not future.done():
            future.set_result(item)
        return True

    def raw(self, item: Item) -> None:
        self._raw.append(item)
        self._notify()

    def deliver(self, buffer: EventBuffer, event: Mapping[str, Any], size: int) -> None:
        if not buffer.push(event, size):
            self._router.forget(buffer)
        self._notify()

    def finished(self) -> None:
        self._router.spread(lambda _: None)
        self._ended.set()
        self._notify()

    # Readers.

    def _notify(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _changed(self) -> None:
        waiter: asyncio.Future[None] = self.loop.create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def subscribe(self, buffer: EventBuffer) -> None:
        """Makes or renews a buffer's subscription."""
        self._router.opening()
        subscription = None
        try:
            made = await self.run(Operation("event.subscribe", buffer.parameters(), lambda answer: answer))
            subscription = made["subscriptionId"]
        finally:
            self._router.opened(subscription, buffer)

    def unsubscribe(self, buffer: EventBuffer) -> None:
        buffer.closed = True
        if not self.closed:
            self._router.forget(buffer)
        self._notify()

    async def next_event(self, buffer: EventBuffer) -> Event | None:
        """The next event; `None` when nothing follows."""
        self.check_loop()
        while True:
            found = buffer.pop()
            if found is not None or buffer.closed:
                return found
            if not buffer.needs_subscription:
                await self._changed()
                continue
            notice = buffer.resume()
            await self.subscribe(buffer)
            if notice is not None:
                return notice

    async def next_raw(self) -> Item | None:
        """The next item that is nobody's; `None` when nothing follows."""
        while not self._raw:
            if self._ended.is_set():
                return None
            await self._changed()
        return self._raw.popleft()

    # The end.

    async def close(self, deadline: float) -> None:
        """Ends calls, requests and tasks. Does nothing in a forked child, or the second time."""
        if self.core.forked or self.closed:
            self.closed = True
            return
        self.check_loop()
        self.closed = True
        try:
            await asyncio.shield(asyncio.ensure_future(self.in_thread(lambda: self.core.close(deadline))))
            await asyncio.wait_for(self._ended.wait(), deadline)
        finally:
            self._release()
            for task in list(self._tasks.values()):
                task.cancel()

    def _release(self) -> None:
        self.core.set_waker(None)
        self._workers.stop()
        _lifecycle.closed(self)

    def close_at_exit(self, deadline: float) -> None:
        self.closed = True
        self.core.close(deadline)
        self._release()

    def abandon(self) -> None:
        """Closes without making the caller wait: it may be the collector."""
        self.closed = True
        self._workers.submit(lambda: self.close_at_exit(1.0))


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine; objects with an ``async def __call__`` count too."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def in_thread(workers: Workers, work: Callable[[], T]) -> T:
    """Runs something that blocks on one of the daemon threads; the loop's own executor would be waited for at exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run() -> None:
        value: T | None = None
        failed: BaseException | None = None
        try:
            value = work()
        except (StopIteration, KeyboardInterrupt, SystemExit) as error:
            # A future cannot hold the first, and the loop would not survive the others.
            failed = HandlerStopped(error)
        except BaseException as error:
            failed = error
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, failed)

    workers.submit(run)
    return await future


class HandlerStopped(Exception):
    """A plain handler raised something that must not reach the event loop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error
