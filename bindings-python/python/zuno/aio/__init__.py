"""The same names as in `zuno`, for asyncio: ``async with zuno.aio.open("state.db") as runtime``."""

from ._questions import Question, Questions
from ._runtime import Opening, Permissions, Runtime, open
from ._session import EventStream, Session

__all__ = ["EventStream", "Opening", "Permissions", "Question", "Questions", "Runtime", "Session", "open"]
