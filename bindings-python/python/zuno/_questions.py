"""Questions of a session, sync face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _ops as ops
from ._views import Answered, Answers, QuestionItem, QuestionView, answer_action

if TYPE_CHECKING:
    from ._session import Session


class Question:
    """A question with what can be done about it. It shows the state it was read in; `refresh` reads it again."""

    __slots__ = ("_engine", "_session", "view")

    def __init__(self, session: Session, view: QuestionView) -> None:
        self._session = session
        self._engine = session._engine
        self.view = view

    @property
    def id(self) -> str:
        """Stable, across restarts too."""
        return self.view.id

    @property
    def revision(self) -> int:
        """Rises with every accepted command."""
        return self.view.revision

    @property
    def state(self) -> str:
        """``pending`` or how it ended."""
        return self.view.state

    @property
    def items(self) -> list[QuestionItem]:
        """What is asked: `id`, `question`, `header`, `options`, `multiple`, `custom`."""
        return self.view.questions

    def __repr__(self) -> str:
        return f"Question({self.id}, {self.state}, revision {self.revision})"

    def _send(self, action: Mapping[str, Any], command_id: str | None) -> Answered:
        answered = self._engine.run(ops.respond_question(self.view, action, command_id))
        self.view = answered.question
        return answered

    def answer(self, answers: Answers, *, command_id: str | None = None) -> Answered:
        """Answers items by id: ``{"q1": ["Yes"]}``. Sent twice it counts once; on a question that has moved on it
        raises `ConflictError` and changes nothing."""
        return self._send(answer_action(answers), command_id)

    def defer(self, *, command_id: str | None = None) -> Answered:
        """Later: whoever waits goes on, the question stays open."""
        return self._send({"type": "defer"}, command_id)

    def skip(self, *, command_id: str | None = None) -> Answered:
        """No answer will come."""
        return self._send({"type": "skip"}, command_id)

    def cancel(self, *, command_id: str | None = None) -> Answered:
        """The question is withdrawn."""
        return self._send({"type": "cancel"}, command_id)

    def refresh(self) -> Question:
        """Reads the question again."""
        self.view = self._engine.run(ops.get_question(self.id))
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the next change; `False` when `timeout` seconds passed without one."""
        self.view, changed = self._engine.run(ops.wait_question(self.view, timeout))
        return changed


class Questions:
    """``session.questions``."""

    __slots__ = ("_engine", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._engine = session._engine

    def pending(self) -> list[Question]:
        """Those that wait for an answer, oldest first."""
        return self.list("pending")

    def list(self, state: str | None = None) -> list[Question]:
        """Questions in a state; without one those that are pending."""
        views = self._engine.run(ops.list_questions(self._session.id, state))
        return [Question(self._session, view) for view in views]

    def get(self, question_id: str) -> Question:
        """One question."""
        return Question(self._session, self._engine.run(ops.get_question(question_id)))

    def publish(
        self, questions: Sequence[Mapping[str, Any]], *, mode: str = "deferred", closed: bool | None = None
    ) -> Question:
        """Asks on behalf of the host. Returns at once; nothing waits."""
        options = {"mode": mode, "closed": closed}
        return Question(self._session, self._engine.run(ops.publish_question(self._session.id, questions, options)))
