"""Events between the queue and a reader that may be slow. Memory is bounded and nothing durable is lost: a full buffer
ends its subscription, and the reader takes a new one from where it stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ._json import params
from ._records import Record
from ._views import Event, event


class EventBuffer:
    """Events of one session that arrived and were not read. Not locked: the faces do that."""

    ENTRIES = 1024
    BYTES = 8 << 20

    def __init__(self, session_id: str, after: int | None, live: bool, types: Sequence[str] | None) -> None:
        self.session_id = session_id
        self.live = live
        self.types = list(types) if types is not None else None
        self.subscription: int | None = None
        self.closed = False
        self._position = after
        self._held: deque[tuple[Mapping[str, Any], int]] = deque()
        self._bytes = 0
        self._overflowed = False
        self._dropped = 0

    def parameters(self) -> dict[str, Any]:
        """Of `event.subscribe`, from where this buffer stands."""
        document = params(session_id=self.session_id, after=self._position, types=self.types)
        return {**document, "live": self.live}

    def push(self, raw: Mapping[str, Any], size: int) -> bool:
        """Takes an event of `size` bytes; `False` = full, the subscription has to end."""
        if self._overflowed:
            self._dropped += not raw["durable"]
            return True
        if len(self._held) >= self.ENTRIES or (self._held and self._bytes + size > self.BYTES):
            self._overflowed = True
            self._dropped += not raw["durable"]
            if self._position is None:
                # Nothing was taken yet: the first event missed is the one to go on with.
                self._position = raw["seq"] - 1 if raw["durable"] else raw["seq"]
            return False
        if raw["durable"] or self._position is None:
            self._position = raw["seq"]
        self._bytes += size
        self._held.append((raw, size))
        return True

    def pop(self) -> Event | None:
        """The oldest event; `None` when there is none."""
        if not self._held:
            return None
        raw, size = self._held.popleft()
        self._bytes -= size
        return event(raw)

    @property
    def waiting(self) -> int:
        """How many events are held."""
        return len(self._held)

    @property
    def needs_subscription(self) -> bool:
        """Everything held was read and the subscription had ended."""
        return self._overflowed and not self._held and not self.closed

    def resume(self) -> Event | None:
        """Called before a new subscription; the notice of what was lost, when something was."""
        self._overflowed = False
        self.subscription = None
        dropped, self._dropped = self._dropped, 0
        if not dropped:
            return None
        position = self._position or 0
        data = Record({"dropped": dropped, "resumeAfter": position})
        return Event("", "stream.lagged", self.session_id, position, False, 0, data)
