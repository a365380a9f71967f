"""Every operation of the typed layer once: its method, its parameters, what its answer becomes. The sync and the
asyncio face only differ in how they run one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ._calls import Call
from ._host import Allow, Decision, Deny
from ._json import params
from ._results import Result, result
from ._views import (
    Answered,
    Event,
    QuestionView,
    SessionInfo,
    ToolInfo,
    Verdict,
    Waiting,
    answered,
    command_id,
    event,
    question_view,
    session_info,
    tool_info,
    waiting,
)

T = TypeVar("T")
ToolFormat = Literal["native", "openai", "anthropic", "mcp"]
InterruptReason = Literal["user_cancel", "request_cancelled", "shutdown", "session_close"]
Causes = Callable[[Mapping[str, Any]], "BaseException | None"]


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A method call with the meaning of its answer."""

    method: str
    params: Mapping[str, Any]
    decode: Callable[[Any], T]


def raw(method: str, document: Mapping[str, Any] | None) -> Operation[Any]:
    return Operation(method, document or {}, lambda answer: answer)


def _session(method: str, session_id: str) -> Operation[SessionInfo]:
    return Operation(method, {"sessionId": session_id}, session_info)


def create_session(directory: str, options: Mapping[str, Any]) -> Operation[SessionInfo]:
    return Operation("session.create", {"directory": directory, **params(**options)}, session_info)


def open_session(session_id: str) -> Operation[SessionInfo]:
    return _session("session.open", session_id)


def get_session(session_id: str) -> Operation[SessionInfo]:
    return _session("session.get", session_id)


def close_session(session_id: str) -> Operation[SessionInfo]:
    return _session("session.close", session_id)


def archive_session(session_id: str) -> Operation[SessionInfo]:
    return _session("session.archive", session_id)


def delete_session(session_id: str) -> Operation[bool]:
    document = {"sessionId": session_id, "confirm": True}
    return Operation("session.delete", document, lambda answer: bool(answer["deleted"]))


def list_sessions() -> Operation[list[SessionInfo]]:
    return Operation("session.list", {}, lambda answer: [session_info(item) for item in answer["sessions"]])


def list_tools() -> Operation[list[ToolInfo]]:
    return Operation("tool.list", {}, lambda answer: [tool_info(item) for item in answer["tools"]])


def session_tools(session_id: str, form: ToolFormat) -> Operation[list[dict[str, Any]]]:
    return Operation("session.tools", {"sessionId": session_id, "format": form}, lambda answer: list(answer["tools"]))


def dispatch(
    session_id: str, calls: Sequence[Call], final: bool, message_id: str | None, causes: Causes
) -> Operation[list[Result]]:
    document: dict[str, Any] = {"sessionId": session_id, "calls": [call.to_wire() for call in calls], "final": final}
    if message_id is not None:
        document["messageId"] = message_id

    def decode(answer: Any) -> list[Result]:
        return [result(part, causes(part)) for part in answer["results"]]

    return Operation("session.dispatch", document, decode)


def one_call(session_id: str, call: Call, causes: Causes) -> Operation[Result]:
    def decode(answer: Any) -> Result:
        part = answer["results"][0]
        return result(part, causes(part))

    return Operation("session.dispatch", {"sessionId": session_id, "calls": [call.to_wire()]}, decode)


def interrupt(session_id: str, reason: InterruptReason) -> Operation[bool]:
    document = params(session_id=session_id, reason=reason)
    return Operation("session.interrupt", document, lambda answer: bool(answer["interrupted"]))


def messages(session_id: str, after: int | None, limit: int | None) -> Operation[list[dict[str, Any]]]:
    document = params(session_id=session_id, after=after, limit=limit)
    return Operation("session.messages", document, lambda answer: list(answer["messages"]))


def unsettled(session_id: str) -> Operation[list[dict[str, Any]]]:
    return Operation("session.unsettled", {"sessionId": session_id}, lambda answer: list(answer["calls"]))


def reconcile(
    session_id: str, call_id: str, verdict: Verdict, evidence: str, message_id: str | None
) -> Operation[dict[str, Any]]:
    document = params(session_id=session_id, call_id=call_id, message_id=message_id, verdict=verdict, evidence=evidence)
    return Operation("session.reconcile", document, dict)


def read_events(session_id: str, after: int, limit: int | None) -> Operation[list[Event]]:
    document = params(session_id=session_id, after=after, limit=limit)
    return Operation("event.read", document, lambda answer: [event(item) for item in answer["events"]])


def list_waiting() -> Operation[list[Waiting]]:
    return Operation("runtime.waiting", {}, lambda answer: [waiting(item) for item in answer["waiting"]])


def list_permissions(session_id: str | None) -> Operation[list[dict[str, Any]]]:
    return Operation("permission.list", params(session_id=session_id), lambda answer: list(answer["requests"]))


def reply_permission(request_id: str, decision: Decision) -> Operation[dict[str, Any]]:
    if isinstance(decision, Allow):
        document = params(request_id=request_id, reply=decision.value)
    elif isinstance(decision, Deny):
        document = params(request_id=request_id, reply="reject", message=decision.reason or None)
    else:
        raise TypeError(f"{decision!r} is no decision; use zuno.Allow.ONCE, zuno.Allow.ALWAYS or zuno.Deny(reason)")
    return Operation("permission.reply", document, dict)


def grants(session_id: str) -> Operation[list[dict[str, Any]]]:
    return Operation("permission.grants", {"sessionId": session_id}, lambda answer: list(answer["grants"]))


def publish_question(
    session_id: str, questions: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Operation[QuestionView]:
    document = {"sessionId": session_id, "purpose": "clarification", "questions": questions, **params(**options)}
    return Operation("question.publish", document, question_view)


def list_questions(session_id: str, state: str | None) -> Operation[list[QuestionView]]:
    document = params(session_id=session_id, state=state)
    return Operation("question.list", document, lambda answer: [question_view(item) for item in answer["questions"]])


def get_question(request_id: str) -> Operation[QuestionView]:
    return Operation("question.get", {"requestId": request_id}, question_view)


def respond_question(question: QuestionView, action: Mapping[str, Any], command: str | None) -> Operation[Answered]:
    document = {
        "requestId": question.id,
        "commandId": command or command_id(question, action),
        "expectedRevision": question.revision,
        "action": action,
    }
    return Operation("question.respond", document, answered)


def wait_question(question: QuestionView, timeout: float | None) -> Operation[tuple[QuestionView, bool]]:
    document = params(
        request_id=question.id,
        after_revision=question.revision,
        timeout_ms=None if timeout is None else round(timeout * 1000),
    )
    return Operation("question.wait", document, lambda answer: (question_view(answer["question"]), answer["changed"]))


def register_tool(declaration: Mapping[str, Any]) -> Operation[str]:
    return Operation("tool.register", declaration, lambda answer: str(answer["name"]))


def register_hook(hook: str, tools: Sequence[str] | None) -> Operation[str]:
    document = params(hook=hook, tools=list(tools) if tools is not None else None)
    return Operation("hook.register", document, lambda answer: str(answer["hookId"]))
