"""Records of the wire as read-only objects: `record.requiredAction`, `record.required_action` and
`record["requiredAction"]` are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._json import camel


class TypedRecord(Mapping[str, Any]):
    """A JSON object with known fields. They are attributes, in the wire's spelling or in snake case, and `None` when
    absent. Fields of later versions are there too; type checkers know only the named ones."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            fields = object.__getattribute__(self, "_fields")
            for key in (name, camel(name)):
                if key in fields:
                    return wrap(fields[key])
            if not name.startswith("_") and _declared(type(self), name):
                return None
            known = ", ".join(sorted(fields))
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {known}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("records are read-only")

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._fields})

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in self._fields.items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self._fields),))

    if TYPE_CHECKING:
        _fields: Mapping[str, Any]


class Record(TypedRecord):
    """A JSON object whose fields differ from case to case."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _declared(kind: type, name: str) -> bool:
    return any(name in vars(base).get("__annotations__", {}) for base in kind.__mro__)


def wrap(value: Any) -> Any:
    """The same value with its objects as records."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [wrap(item) for item in value]
    return value
