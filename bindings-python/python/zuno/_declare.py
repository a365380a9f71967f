"""A host tool from a Python function: its schema comes from the signature, its description from the docstring."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union

from ._errors import ArgumentsError
from ._host import BadAnswer, ToolContext, ToolOutput
from ._json import params

_PLAIN: dict[object, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array"},
    dict: {"type": "object"},
    type(None): {"type": "null"},
    Any: {},
}


@dataclass(frozen=True, slots=True)
class HostTool:
    """A function with its declaration."""

    name: str
    function: Callable[..., Any]
    declaration: dict[str, Any]
    context: str | None
    """The parameter that receives the `ToolContext`."""

    def arguments(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with."""
        given = dict(payload["arguments"])
        if self.context is not None:
            given[self.context] = ToolContext(
                payload["tool"], payload["sessionId"], payload["messageId"], payload["callId"]
            )
        return given


def declare(
    function: Callable[..., Any], name: str | None, description: str | None, options: Mapping[str, Any]
) -> HostTool:
    """Reads a function. `options` are the further fields of `tool.register`, in snake case."""
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _bad(function, f"the parameter `{parameter.name}` has to be one that can be given by name")
        hint = hints.get(parameter.name, Any)
        if hint is ToolContext:
            context = parameter.name
            continue
        properties[parameter.name] = _schema(function, parameter.name, hint)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            properties[parameter.name] = {**properties[parameter.name], "default": parameter.default}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    text = description if description is not None else inspect.getdoc(function)
    if not text:
        raise _bad(function, "it needs a docstring, or `description=`, that tells the model what it does")
    spelled = name or function.__name__
    declaration = {"name": spelled, "description": text, "inputSchema": schema, **params(**options)}
    return HostTool(spelled, function, declaration, context)


def _schema(function: Callable[..., Any], parameter: str, hint: Any) -> dict[str, Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        texts = [extra for extra in args[1:] if isinstance(extra, str)]
        schema = _schema(function, parameter, args[0])
        return {**schema, "description": texts[0]} if texts else schema
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(function, parameter, arg) for arg in args]}
    if origin is list:
        return {"type": "array", "items": _schema(function, parameter, args[0])}
    if origin is dict and args[0] is str:
        return {"type": "object", "additionalProperties": _schema(function, parameter, args[1])}
    raise _bad(
        function,
        f"the type of `{parameter}`, {hint!r}, has no JSON Schema here; use str, int, float, bool, list, dict, "
        "Optional, Literal or Annotated, or register the tool through runtime.call('tool.register', ...)",
    )


def _bad(function: Callable[..., Any], problem: str) -> ArgumentsError:
    return ArgumentsError("arguments.bad_tool", f"The tool function {function.__qualname__}: {problem}.")


def tool_answer(_payload: Mapping[str, Any], answer: object) -> dict[str, Any]:
    """What a host tool returned, as the wire takes it."""
    if answer is None:
        return {"output": ""}
    if isinstance(answer, str):
        return {"output": answer}
    if isinstance(answer, ToolOutput):
        return {
            "title": answer.title,
            "output": answer.output,
            "metadata": dict(answer.metadata),
            "attachments": [dict(item) for item in answer.attachments],
            "continuation": answer.continuation,
        }
    try:
        return {"output": json.dumps(answer, ensure_ascii=False)}
    except (TypeError, ValueError):
        raise BadAnswer(f"returned {answer!r}; return text, a zuno.ToolOutput or a JSON value") from None
