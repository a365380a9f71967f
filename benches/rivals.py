"""What a user would pick instead."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import setup


class Mcp:
    """The MCP filesystem server, over its standard streams, one JSON document per line."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(setup.MCP), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._id = 0
        client = {"name": "bench", "version": "0"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def _send(self, document: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(document).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._id and "method" not in answer:
                return answer
        raise RuntimeError("the MCP server has ended")

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool; an error of the server is one here."""
        answer = self._ask("tools/call", {"name": name, "arguments": arguments})
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(str(answer)[:300])
        return answer["result"]

    def close(self) -> None:
        """Ends the server."""
        self._process.kill()
        self._process.wait()


def mcp(directory: Path) -> Mcp | None:
    """The server, if it is installed."""
    return Mcp(directory) if setup.MCP.exists() and shutil.which("node") else None


def langchain(directory: Path) -> Callable[[str], str] | None:
    """LangChain's tool that reads a file, if it is installed."""
    try:
        from langchain_community.tools.file_management import ReadFileTool
    except ImportError:
        return None
    tool = ReadFileTool(root_dir=str(directory))
    return lambda path: str(tool.invoke({"file_path": path}))
