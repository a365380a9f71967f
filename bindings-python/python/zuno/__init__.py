"""The tool runtime that applications embed.

```python
import zuno

with zuno.open("state.db") as runtime:
    session = runtime.session(".")
    print(session.call("read", filePath="README.md").output)
```

`zuno.aio` has the same names for asyncio. ``python -m zuno doctor`` says what this machine offers.
"""

from . import aio, formats
from ._calls import Call
from ._errors import (
    ArgumentsError,
    BusyError,
    CallFailed,
    ClosedError,
    ConflictError,
    ForkError,
    HostError,
    NotFoundError,
    PermissionDenied,
    StoreError,
    UnavailableError,
    ZunoError,
)
from ._host import (
    AfterCall,
    Allow,
    ApprovalRequest,
    Approve,
    BeforeCall,
    Block,
    Command,
    Decision,
    Deny,
    Environment,
    Rewrite,
    ToolContext,
    ToolError,
    ToolOutput,
)
from ._questions import Question, Questions
from ._records import Record, TypedRecord
from ._results import Attachment, Conflict, Denial, Receipt, Result, ToolFailure, Uncertainty
from ._runtime import Permissions, Runtime, open
from ._session import EventStream, Session
from ._views import Answered, Event, QuestionItem, QuestionView, SessionInfo, ToolInfo, Waiting
from ._zuno import VERSION as __version__

__all__ = [
    "AfterCall",
    "Allow",
    "Answered",
    "ApprovalRequest",
    "Approve",
    "ArgumentsError",
    "Attachment",
    "BeforeCall",
    "Block",
    "BusyError",
    "Call",
    "CallFailed",
    "ClosedError",
    "Command",
    "Conflict",
    "ConflictError",
    "Decision",
    "Denial",
    "Deny",
    "Environment",
    "Event",
    "EventStream",
    "ForkError",
    "HostError",
    "NotFoundError",
    "PermissionDenied",
    "Permissions",
    "Question",
    "QuestionItem",
    "QuestionView",
    "Questions",
    "Receipt",
    "Record",
    "Result",
    "Rewrite",
    "Runtime",
    "Session",
    "SessionInfo",
    "StoreError",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolInfo",
    "ToolOutput",
    "TypedRecord",
    "UnavailableError",
    "Uncertainty",
    "Waiting",
    "ZunoError",
    "__version__",
    "aio",
    "formats",
    "open",
]
