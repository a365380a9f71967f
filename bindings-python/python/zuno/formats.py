"""Tool calls of model providers to `Call` and results back. Pure functions; objects of the providers' SDKs work too.

| provider | calls | results |
| --- | --- | --- |
| OpenAI chat completions and responses | `openai_calls` | `openai_messages` |
| Anthropic messages | `anthropic_calls` | `anthropic_message` |
| MCP `tools/call` | `mcp_call` | `mcp_result` |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._calls import Call
from ._results import Attachment, Result

__all__ = ["anthropic_calls", "anthropic_message", "mcp_call", "mcp_result", "openai_calls", "openai_messages"]


def _get(item: Any, name: str, default: Any = None) -> Any:
    return item.get(name, default) if isinstance(item, Mapping) else getattr(item, name, default)


def openai_calls(tool_calls: Iterable[Any]) -> list[Call]:
    """The calls of `message.tool_calls`, or the `function_call` items of a response's `output`."""
    calls = []
    for item in tool_calls:
        function = _get(item, "function")
        if function is not None:
            calls.append(Call(_get(function, "name"), _get(function, "arguments") or "{}", call_id=_get(item, "id")))
        elif _get(item, "type") == "function_call":
            calls.append(Call(_get(item, "name"), _get(item, "arguments") or "{}", call_id=_get(item, "call_id")))
    return calls


def openai_messages(results: Iterable[Result], *, responses: bool = False) -> list[dict[str, Any]]:
    """One `tool` message per result; with `responses=True` `function_call_output` items."""
    if responses:
        return [{"type": "function_call_output", "call_id": r.call_id, "output": r.output} for r in results]
    return [{"role": "tool", "tool_call_id": r.call_id, "content": r.output} for r in results]


def anthropic_calls(content: Iterable[Any]) -> list[Call]:
    """The `tool_use` blocks of a message's content."""
    blocks = (block for block in content if _get(block, "type") == "tool_use")
    return [Call(_get(block, "name"), dict(_get(block, "input") or {}), call_id=_get(block, "id")) for block in blocks]


def anthropic_message(results: Iterable[Result]) -> dict[str, Any]:
    """The user message that holds one `tool_result` block per result."""
    content = []
    for result in results:
        parts: list[dict[str, Any]] = [{"type": "text", "text": result.output}] if result.output else []
        for mime, data in _inline(result.attachments):
            kind = "document" if mime == "application/pdf" else "image"
            parts.append({"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}})
        block = {"type": "tool_result", "tool_use_id": result.call_id, "content": parts}
        content.append({**block, "is_error": True} if not result.ok else block)
    return {"role": "user", "content": content}


def mcp_call(params: Mapping[str, Any]) -> Call:
    """The call of a `tools/call` request's `params`."""
    return Call(params["name"], dict(params.get("arguments") or {}))


def mcp_result(result: Result) -> dict[str, Any]:
    """The `result` of a `tools/call` response."""
    content: list[dict[str, Any]] = [{"type": "text", "text": result.output}]
    for mime, data in _inline(result.attachments):
        if mime.startswith("image/"):
            content.append({"type": "image", "mimeType": mime, "data": data})
        else:
            resource = {"uri": f"zuno:attachment/{result.call_id}", "mimeType": mime, "blob": data}
            content.append({"type": "resource", "resource": resource})
    return {"content": content, "isError": not result.ok}


def _inline(attachments: Sequence[Attachment]) -> list[tuple[str, str]]:
    found = []
    for attachment in attachments:
        head, comma, data = attachment.url.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            found.append((attachment.mime, data))
    return found
