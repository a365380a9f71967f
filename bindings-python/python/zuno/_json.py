"""JSON texts for the wire. One encoder for the whole package: `json.dumps` with options builds one per call."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._errors import ArgumentsError


def _foreign(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_foreign).encode

loads = json.loads


def dumps(value: object) -> str:
    """The JSON text of a value; paths are written as strings."""
    try:
        text = _encode(value)
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError(
            "arguments.json",
            f"A string holds half of a surrogate pair and is not text ({error}); send whole characters.",
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentsError("arguments.json", f"This cannot be written as JSON: {error}.") from None
    return text


def camel(name: str) -> str:
    """`snake_case` as the wire spells it."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def params(**fields: Any) -> dict[str, Any]:
    """Parameters in the wire's spelling; what is `None` is left to the method's default."""
    return {camel(name): value for name, value in fields.items() if value is not None}
