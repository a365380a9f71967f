"""The options document of `open`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from typing import Any

from ._handlers import Handlers
from ._json import dumps

OLDEST_RIPGREP = 14


def document(
    handlers: Handlers,
    database: str | os.PathLike[str] | None,
    config: Mapping[str, Any] | None,
    ports: tuple[str, ...],
    reads: Mapping[str, bool],
) -> str:
    """The options as JSON."""
    options: dict[str, Any] = {"ports": handlers.ports(ports), "config": with_ripgrep(config or {}), **reads}
    if database is not None:
        options["database"] = os.fspath(database)
    return dumps(options)


def with_ripgrep(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same configuration; when it names no ripgrep and `PATH` has none to work with, the one that the `ripgrep`
    package brought (``pip install zuno[rg]``)."""
    search = config.get("search", {})
    if not isinstance(search, Mapping) or "ripgrep_path" in search:
        return config
    packaged = packaged_ripgrep()
    if packaged is None or _usable(shutil.which("rg"), packaged):
        return config
    return {**config, "search": {**search, "ripgrep_path": packaged}}


def packaged_ripgrep() -> str | None:
    """The `rg` beside this interpreter's other scripts, where the `ripgrep` package puts it."""
    name = "rg.exe" if os.name == "nt" else "rg"
    for scheme in (None, f"{os.name}_user"):
        paths = sysconfig.get_paths(scheme) if scheme else sysconfig.get_paths()
        found = os.path.join(paths["scripts"], name)
        if os.access(found, os.X_OK):
            return found
    return None


def _usable(on_path: str | None, packaged: str) -> bool:
    if on_path is None:
        return False
    if os.path.realpath(on_path) == os.path.realpath(packaged):
        return True
    try:
        told = subprocess.run([on_path, "--version"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(r"ripgrep (\d+)", told)
    return version is not None and int(version[1]) >= OLDEST_RIPGREP
