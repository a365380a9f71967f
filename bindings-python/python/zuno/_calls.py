"""Calls as a host writes them, and the forms that model providers use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Call:
    """One tool call: ``Call("grep", pattern="TODO")``.

    Arguments that are not names, or that come as a model wrote them, go in one piece:
    ``Call("grep", {"pattern": "TODO"}, call_id="call_7")``. A text is passed on as it is and parsed by the library,
    which refuses what is not JSON.
    """

    __slots__ = ("arguments", "call_id", "name")

    name: str
    arguments: Mapping[str, Any] | str
    call_id: str | None

    def __init__(
        self,
        name: str,
        document: Mapping[str, Any] | str | None = None,
        /,
        *,
        call_id: str | None = None,
        **arguments: Any,
    ) -> None:
        if document is not None and arguments:
            raise TypeError("give the arguments as one document or by name, not both")
        self.name = name
        self.arguments = arguments if document is None else document
        self.call_id = call_id

    def __repr__(self) -> str:
        return f"Call({self.name!r}, {self.arguments!r}, call_id={self.call_id!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        return (self.name, self.arguments, self.call_id) == (other.name, other.arguments, other.call_id)

    __hash__ = None  # type: ignore[assignment]

    def to_wire(self) -> dict[str, Any]:
        """The call as `session.dispatch` takes it."""
        wire: dict[str, Any] = {"name": self.name, "arguments": self.arguments}
        if self.call_id is not None:
            wire["callId"] = self.call_id
        return wire
