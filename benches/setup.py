"""What a run needs, under target/bench: a release module of this checkout, rivals from the registries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "bench"
PACKAGE = PLACE / "package"
VENV = PLACE / "venv"
PYTHON = VENV / "bin" / "python"
NPM = PLACE / "npm"
NODE = PLACE / "node"
MCP = NPM / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"


def _run(*command: str | Path, cwd: Path = ROOT) -> bool:
    print(f"# {' '.join(str(part) for part in command[:6])}", file=sys.stderr, flush=True)
    try:
        return subprocess.run([str(part) for part in command], cwd=cwd, check=False, stdout=sys.stderr).returncode == 0
    except FileNotFoundError:
        return False


def _target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def module() -> None:
    """The package with a release module, beside the one that tests use."""
    if not _run("cargo", "build", "--quiet", "--release", "-p", "zuno-python"):
        raise SystemExit("the release module could not be built")
    shutil.copytree(
        ROOT / "bindings-python/python/zuno",
        PACKAGE / "zuno",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    # A new file, never the old one written over: another run may have it mapped.
    fresh = PACKAGE / "zuno/_zuno.abi3.so.new"
    shutil.copyfile(_target() / "lib_zuno.so", fresh)
    fresh.rename(PACKAGE / "zuno/_zuno.abi3.so")


def rivals() -> None:
    """Rivals that are not there yet; the rows say what is missing in the end."""
    if not PYTHON.exists():
        _run(sys.executable, "-m", "venv", VENV)
    if not (VENV / "langchain.done").exists() and _run(
        PYTHON, "-m", "pip", "install", "--quiet", "ripgrep", "langchain-community"
    ):
        (VENV / "langchain.done").touch()
    if not MCP.exists() and shutil.which("npm"):
        NPM.mkdir(parents=True, exist_ok=True)
        (NPM / "package.json").write_text('{"name":"rivals","private":true}\n')
        _run(
            "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
            "@modelcontextprotocol/server-filesystem", cwd=NPM,
        )  # fmt: skip


def node() -> None:
    """A copy of the Node package with a release addon, if `make node` has compiled the package."""
    compiled = ROOT / "bindings-node/dist"
    if not compiled.is_dir() or not shutil.which("node"):
        return
    if not _run("cargo", "build", "--quiet", "--release", "-p", "zuno-node"):
        return
    shutil.copytree(compiled, NODE / "dist", dirs_exist_ok=True)
    shutil.copyfile(ROOT / "bindings-node/package.json", NODE / "package.json")
    for addon in (ROOT / "bindings-node").glob("*.node"):
        shutil.copyfile(_target() / "libzuno_node.so", NODE / addon.name)


def everything() -> None:
    """Sets everything up; quick when it is there."""
    PLACE.mkdir(parents=True, exist_ok=True)
    module()
    rivals()
    node()
