"""The sync face's machinery: a dispatcher thread that reads the queue, worker threads that run handlers, and an event
loop of its own for handlers that are `async`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from . import _lifecycle
from ._errors import ZunoError
from ._handlers import Causes, Handlers, Job, failure
from ._json import dumps, loads
from ._ops import Operation
from ._router import Item, Router
from ._streams import EventBuffer
from ._views import Event
from ._workers import Workers
from ._zuno import Core

T = TypeVar("T")


class Engine:
    """A runtime and the threads that serve it. Holds no reference to the objects that users hold."""

    def __init__(self, options: str, handlers: Handlers, raw_ports: tuple[str, ...]) -> None:
        self.handlers = handlers
        self.causes = Causes()
        self.core = Core.open(options)
        self._router = Router(self.core, handlers, self, raw_ports)
        self._workers = Workers("zuno-handler")
        self._loop = HostLoop()
        self._running: dict[str, Future[tuple[Any, BaseException | None]]] = {}
        self._raw: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._arrived = threading.Condition()
        self._closing = threading.Lock()
        self.closed = False
        self._dispatcher = threading.Thread(target=self._dispatch, name="zuno-dispatcher", daemon=True)
        self._dispatcher.start()
        _lifecycle.opened(self)

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation on the calling thread."""
        return operation.decode(loads(self.core.call(operation.method, dumps(operation.params))))

    # The dispatcher's side.

    def _dispatch(self) -> None:
        while (text := self.core.next(None)) is not None:
            self._router.route(text)

    def serve(self, job: Job) -> None:
        self._workers.submit(lambda: self._answer(job))

    def _answer(self, job: Job) -> None:
        try:
            value = job.run()
            if inspect.isawaitable(value):
                value = self._await(job, value)
            self.core.respond(job.request_id, job.answer(value))
        except BaseException as error:  # a handler's end is never the end of this thread
            self._refuse(job, error)

    def _await(self, job: Job, value: Awaitable[Any]) -> Any:
        future = self._loop.submit(value)
        self._running[job.request_id] = future
        try:
            answer, interrupt = future.result()
        finally:
            self._running.pop(job.request_id, None)
        if interrupt is not None:
            raise interrupt
        return answer

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
        future = self._running.get(request_id)
        if future is not None:
            future.cancel()

    def settle(self, item: Item) -> bool:
        return False

    def raw(self, item: Item) -> None:
        self._raw.put(item)

    def deliver(self, buffer: EventBuffer, event: Mapping[str, Any], size: int) -> None:
        with self._arrived:
            full = not buffer.push(event, size)
            self._arrived.notify_all()
        if full:
            self._router.forget(buffer)

    def finished(self) -> None:
        with self._arrived:
            self._router.spread(lambda _: None)
            self._arrived.notify_all()
        self._raw.put(None)

    # The readers' side.

    def subscribe(self, buffer: EventBuffer) -> None:
        """Makes or renews a buffer's subscription."""
        self._router.opening()
        subscription = None
        try:
            answer = loads(self.core.call("event.subscribe", dumps(buffer.parameters())))
            subscription = answer["subscriptionId"]
        finally:
            self._router.opened(subscription, buffer)

    def unsubscribe(self, buffer: EventBuffer) -> None:
        with self._arrived:
            buffer.closed = True
            self._arrived.notify_all()
        if not self.closed:
            self._router.forget(buffer)

    def next_event(self, buffer: EventBuffer, timeout: float | None) -> Event | None:
        """The next event; `None` when none came in time, or nothing follows."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._arrived:
                found = buffer.pop()
                if found is not None or buffer.closed:
                    return found
                if not buffer.needs_subscription:
                    rest = None if until is None else until - time.monotonic()
                    if rest is not None and rest <= 0:
                        return None
                    self._arrived.wait(rest)
                    continue
                notice = buffer.resume()
            self.subscribe(buffer)
            if notice is not None:
                return notice

    def next_raw(self, timeout: float | None) -> Item | None:
        """The next item that is nobody's."""
        try:
            item = self._raw.get(timeout=timeout) if timeout != 0 else self._raw.get_nowait()
        except queue.Empty:
            return None
        if item is None:
            self._raw.put(None)
        return item

    # The end.

    def close(self, deadline: float) -> None:
        """Ends calls, requests and threads. Does nothing in a forked child, or the second time."""
        if self.core.forked:
            self.closed = True
            return
        with self._closing:
            if self.closed:
                return
            self.closed = True
        try:
            self.core.close(deadline)
        finally:
            _lifecycle.closed(self)
            self._workers.stop()
            self._loop.stop()
        if threading.current_thread() is not self._dispatcher:
            self._dispatcher.join(deadline)

    def close_at_exit(self, deadline: float) -> None:
        self.close(deadline)

    def abandon(self) -> None:
        """Closes without making the caller wait: it may be the collector."""
        threading.Thread(target=self.close, args=(1.0,), name="zuno-abandon", daemon=True).start()


class HostLoop:
    """An event loop on a thread of its own, started by the first handler that needs one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, value: Awaitable[Any]) -> Future[tuple[Any, BaseException | None]]:
        """Runs an awaitable on the loop."""
        return asyncio.run_coroutine_threadsafe(_outcome(value), self._started())

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="zuno-loop", daemon=True)
                self._thread.start()
            return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
            loop.run_until_complete(_cancel_all())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    def stop(self) -> None:
        """Cancels what runs and ends the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(1.0)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _outcome(value: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        return await value, None
    except (KeyboardInterrupt, SystemExit) as interrupt:
        # A task that lets these through ends its loop, and with it every other handler.
        return None, interrupt
