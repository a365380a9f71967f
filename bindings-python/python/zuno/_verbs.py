"""The common tools as methods, the same in both faces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

from ._calls import Call

R = TypeVar("R")
ExitPolicy = Literal["pipefail", "all", "last"]


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


class Verbs(Generic[R]):
    """Typed sugar over `call`. `intent` is a label for user interfaces; `accept_large_output` asks for the complete
    output inline."""

    __slots__ = ()

    def _one(self, call: Call) -> R:
        raise NotImplementedError

    def call(self, name: str, document: Mapping[str, Any] | str | None = None, /, **arguments: Any) -> R:
        """Calls a tool by its name: ``session.call("read", filePath="src/app.py")``. Arguments as a model wrote them go
        in one piece, as a mapping or as JSON text."""
        if document is None:
            return self._one(Call(name, arguments))
        if arguments:
            raise TypeError("give the arguments as one document or by name, not both")
        return self._one(Call(name, document))

    def read(
        self,
        path: str | os.PathLike[str],
        *,
        offset: int | None = None,
        limit: int | None = None,
        intent: str | None = None,
        accept_large_output: bool | None = None,
    ) -> R:
        """Reads a file or lists a directory."""
        arguments = _given(
            filePath=os.fspath(path), offset=offset, limit=limit, intent=intent, accept_large_output=accept_large_output
        )
        return self._one(Call("read", arguments))

    def glob(
        self,
        pattern: str,
        *,
        path: str | os.PathLike[str] | None = None,
        intent: str | None = None,
        accept_large_output: bool | None = None,
    ) -> R:
        """Finds files by name."""
        where = None if path is None else os.fspath(path)
        arguments = _given(pattern=pattern, path=where, intent=intent, accept_large_output=accept_large_output)
        return self._one(Call("glob", arguments))

    def grep(
        self,
        pattern: str,
        *,
        path: str | os.PathLike[str] | None = None,
        include: str | None = None,
        intent: str | None = None,
        accept_large_output: bool | None = None,
    ) -> R:
        """Finds lines by regular expression."""
        where = None if path is None else os.fspath(path)
        arguments = _given(
            pattern=pattern, path=where, include=include, intent=intent, accept_large_output=accept_large_output
        )
        return self._one(Call("grep", arguments))

    def write(
        self,
        path: str | os.PathLike[str],
        content: str,
        *,
        intent: str | None = None,
    ) -> R:
        """Writes a whole file; an existing one has to have been read as it is now."""
        return self._one(Call("write", _given(filePath=os.fspath(path), content=content, intent=intent)))

    def shell(
        self,
        command: str,
        *,
        timeout: int | None = None,
        workdir: str | os.PathLike[str] | None = None,
        background: bool | None = None,
        exit_policy: ExitPolicy | None = None,
        intent: str | None = None,
        accept_large_output: bool | None = None,
    ) -> R:
        """Runs a command exactly as written. `timeout` counts milliseconds until the call hands out a handle; it does
        not stop the command."""
        arguments = _given(
            command=command,
            timeout=timeout,
            workdir=None if workdir is None else os.fspath(workdir),
            background=background,
            exitPolicy=exit_policy,
            intent=intent,
            accept_large_output=accept_large_output,
        )
        return self._one(Call("shell", arguments))
