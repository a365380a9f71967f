"""What operations other than calls answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, Union

from ._records import Record, TypedRecord
from ._results import Concurrency, Effect, Replay

Answers: TypeAlias = Mapping[str, Union[str, Sequence[str]]]
Verdict: TypeAlias = Literal["happened", "did_not_happen", "partly"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The record of a session."""

    id: str
    directory: str
    state: str
    mode: str
    title: str | None
    agent: str | None
    parent_id: str | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A registered tool with its declarations."""

    name: str
    description: str
    input_schema: dict[str, Any] = field(repr=False)
    effect: Effect
    replay: Replay
    concurrency: Concurrency
    surface: str
    origin: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits for a person."""

    kind: str
    id: str
    session_id: str
    since: int


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about a session. Durable ones are numbered without gaps and can be read again."""

    id: str
    type: str
    session_id: str
    seq: int
    durable: bool
    time: int
    data: Record
    turn_id: str | None = None
    cycle_id: str | None = None
    root_session_id: str | None = None


class QuestionItem(TypedRecord):
    """One thing that is asked. `custom` = a typed answer is taken beside the options."""

    __slots__ = ()
    id: str
    question: str
    header: str
    options: list[Record]
    multiple: bool
    custom: bool


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as it stood when it was read."""

    id: str
    session_id: str
    revision: int
    mode: str
    purpose: str
    state: str
    questions: list[QuestionItem]
    answers: dict[str, list[str]]
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer led to. `duplicate` = the same command had been accepted before; nothing happened twice."""

    duplicate: bool
    input_id: str | None
    question: QuestionView


def session_info(raw: Mapping[str, Any]) -> SessionInfo:
    return SessionInfo(
        raw["id"],
        raw["directory"],
        raw["state"],
        raw["mode"],
        raw.get("title"),
        raw.get("agent"),
        raw.get("parentId"),
        raw,
    )


def tool_info(raw: Mapping[str, Any]) -> ToolInfo:
    return ToolInfo(
        raw["name"],
        raw["description"],
        raw["inputSchema"],
        raw["effect"],
        raw["replay"],
        raw["concurrency"],
        raw["surface"],
        raw["origin"],
    )


def waiting(raw: Mapping[str, Any]) -> Waiting:
    return Waiting(raw["kind"], raw["id"], raw["sessionId"], raw["since"])


def event(raw: Mapping[str, Any]) -> Event:
    return Event(
        raw["id"],
        raw["type"],
        raw["sessionId"],
        raw["seq"],
        raw["durable"],
        raw["time"],
        Record(raw["data"]),
        raw.get("turnId"),
        raw.get("cycleId"),
        raw.get("rootSessionId"),
    )


def question_view(raw: Mapping[str, Any]) -> QuestionView:
    return QuestionView(
        raw["id"],
        raw["origin"]["sessionId"],
        raw["revision"],
        raw["mode"],
        raw["purpose"],
        raw["state"],
        [QuestionItem(item) for item in raw["questions"]],
        raw["answers"],
        raw,
    )


def answered(raw: Mapping[str, Any]) -> Answered:
    return Answered(raw["duplicate"], raw.get("inputId"), question_view(raw["question"]))


def answer_action(answers: Answers) -> dict[str, Any]:
    """An `answer` command; one value may be given without its list."""
    values = {item: [value] if isinstance(value, str) else list(value) for item, value in answers.items()}
    return {"type": "answer", "answers": values}


def command_id(question: QuestionView, action: Mapping[str, Any]) -> str:
    """The same for the same command on the same revision, so that sending it twice does it once."""
    text = json.dumps([question.id, question.revision, action], sort_keys=True)
    return f"py-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
