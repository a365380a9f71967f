"""Sorts the items of the queue. Both faces feed it; what is nobody's goes to `runtime.next`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ._handlers import Handlers, Job
from ._json import loads
from ._streams import EventBuffer
from ._zuno import Core

Item = Mapping[str, Any]


class Face(Protocol):
    """How a face does what the router cannot."""

    def serve(self, job: Job) -> None:
        """Runs a handler without holding up the router."""

    def withdraw(self, request_id: str) -> None:
        """An answer is no longer wanted."""

    def settle(self, item: Item) -> bool:
        """Takes the end of an operation; `False` when it did not start it."""

    def deliver(self, buffer: EventBuffer, event: Mapping[str, Any], size: int) -> None:
        """Gives an event to a reader."""

    def raw(self, item: Item) -> None:
        """Keeps an item for `runtime.next`."""

    def finished(self) -> None:
        """Nothing follows."""


# Requests of raw ports that may be open at once and still be told apart.
_RAW_REQUESTS = 4096


class Router:
    """Where each item goes."""

    def __init__(self, core: Core, handlers: Handlers, face: Face, raw_ports: tuple[str, ...]) -> None:
        self._core = core
        self._handlers = handlers
        self._face = face
        self._raw_ports = raw_ports
        self._raw_requests: dict[str, bool] = {}
        # Re-entrant: handing over early events may end the subscription they came from.
        self._lock = threading.RLock()
        self._buffers: dict[int, EventBuffer] = {}
        self._opening = 0
        self._early: list[tuple[Item, int]] = []
        self._forgotten: set[int] = set()
        self._unheard: set[int] = set()

    def route(self, text: str) -> None:
        """Takes one item."""
        item = loads(text)
        kind = item["type"]
        if kind == "event":
            self._event(item, len(text))
        elif kind == "request":
            self._request(item)
        elif kind == "op":
            self._op(item)
        elif kind == "cancelled":
            if self._raw_requests.pop(item["requestId"], False):
                self._face.raw(item)
            else:
                self._face.withdraw(item["requestId"])
        elif kind == "closed":
            self._face.raw(item)
            self._face.finished()

    def _op(self, item: Item) -> None:
        if self._face.settle(item):
            return
        with self._lock:
            if item["id"] in self._unheard:
                self._unheard.discard(item["id"])
                return
        self._face.raw(item)

    def _request(self, item: Item) -> None:
        kind = item["kind"]
        try:
            job = self._handlers.job(item)
        except Exception as error:  # a payload this version cannot read must not end the queue
            self._core.fail(item["id"], "host.failed", f"The `{kind}` request could not be read: {error!r}")
            return
        if job is not None:
            self._face.serve(job)
        elif kind in self._raw_ports:
            self._remember(item["id"])
            self._face.raw(item)
        else:
            message = f"The Python host has no handler for this `{kind}` request."
            self._core.fail(item["id"], "host.unsupported", message)

    def _remember(self, request_id: str) -> None:
        """Whoever takes requests from `runtime.next` is told there when an answer is no longer wanted. Answers are not
        seen here, so the oldest are forgotten."""
        self._raw_requests[request_id] = True
        if len(self._raw_requests) > _RAW_REQUESTS:
            del self._raw_requests[next(iter(self._raw_requests))]

    def _event(self, item: Item, size: int) -> None:
        with self._lock:
            buffer = self._buffers.get(item["subscriptionId"])
            if buffer is None:
                if item["subscriptionId"] in self._forgotten:
                    return
                if self._opening:
                    self._early.append((item, size))
                    return
        if buffer is None:
            self._face.raw(item)
        else:
            self._face.deliver(buffer, item["event"], size)

    def opening(self) -> None:
        """A subscription is about to be made: events may come before its id is known."""
        with self._lock:
            self._opening += 1

    def opened(self, subscription: int | None, buffer: EventBuffer) -> None:
        """The subscription was made (or failed: `None`); hands over what came early."""
        with self._lock:
            if subscription is not None:
                buffer.subscription = subscription
                self._buffers[subscription] = buffer
            self._opening -= 1
            ours = [early for early in self._early if early[0]["subscriptionId"] == subscription]
            rest = [early for early in self._early if early[0]["subscriptionId"] != subscription]
            self._early = rest if self._opening else []
            others = [] if self._opening else rest
            # Handed over under the lock: a later event must not overtake an early one.
            for item, size in ours:
                self._face.deliver(buffer, item["event"], size)
        for item, _ in others:
            self._face.raw(item)

    def forget(self, buffer: EventBuffer) -> None:
        """Ends a buffer's subscription without waiting for it."""
        with self._lock:
            subscription, buffer.subscription = buffer.subscription, None
            if subscription is None:
                return
            del self._buffers[subscription]
            self._forgotten.add(subscription)
        self.quietly("event.unsubscribe", f'{{"subscriptionId":{subscription}}}')

    def unheard(self, op: int) -> None:
        """The end of this operation interests nobody."""
        with self._lock:
            self._unheard.add(op)

    def quietly(self, method: str, document: str) -> None:
        """Starts something whose end interests nobody."""
        with self._lock:
            self._unheard.add(self._core.start(method, document))

    def buffers(self) -> list[EventBuffer]:
        """Every buffer with a subscription."""
        with self._lock:
            return list(self._buffers.values())

    def spread(self, waken: Callable[[EventBuffer], None]) -> None:
        """Ends every buffer; called when nothing follows."""
        for buffer in self.buffers():
            buffer.closed = True
            waken(buffer)
