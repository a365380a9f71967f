"""Calls, their results, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zuno
from conftest import ASKING

SOURCE = 'char *s = "a\\nb\\0c\\\'d\\u2260\\\\";\r\n\ttab \u2260 \U0001f600 end'


def test_a_file_comes_back_byte_for_byte(session: zuno.Session, workspace: Path) -> None:
    # case: 22
    written = session.call("write", filePath="s.c", content=SOURCE).check()
    assert (workspace / "s.c").read_bytes() == SOURCE.encode()
    assert written.written_paths == [str(workspace / "s.c")]
    shown = session.read("s.c").check()
    assert shown.metadata.display.text.splitlines() == SOURCE.splitlines()


async def _write_and_read(database: Path, workspace: Path) -> str:
    async with zuno.aio.open(database, config={"permission": {"mode": "allow_all"}}) as runtime:
        session = await runtime.session(workspace)
        (await session.write("s.c", SOURCE)).check()
        return (await session.read("s.c")).check().output


def test_the_asyncio_face_writes_the_same_bytes(database: Path, workspace: Path) -> None:
    # case: 22
    import asyncio

    output = asyncio.run(_write_and_read(database, workspace))
    assert (workspace / "s.c").read_bytes() == SOURCE.encode()
    assert '"a\\nb\\0c\\\'d\\u2260\\\\";' in output


def test_results_stand_in_call_order_and_read_like_data(session: zuno.Session) -> None:
    outcomes = session.dispatch(
        [
            zuno.Call("grep", pattern="TODO"),
            zuno.Call("glob", pattern="**/*.txt"),
            zuno.Call("read", {"filePath": "missing.py"}, call_id="third"),
        ]
    )
    assert [o.tool for o in outcomes] == ["grep", "glob", "read"]
    assert [o.outcome for o in outcomes] == ["ok", "ok", "blocked"]
    found, listed, missing = outcomes
    assert found.ok and "a.py" in found.output
    assert "b.txt" in listed.output
    assert missing.call_id == "third"
    assert missing.block_kind == "invalid_arguments"
    assert missing.error is not None and (missing.error.kind, missing.error.code) == ("InvalidArgs", "not_found")
    assert (found.effect, found.replay, found.concurrency) == ("ReadOnly", "Safe", "ParallelSafe")
    assert found.receipt is None and found.written_paths == [] and found.duration is not None
    with pytest.raises(zuno.CallFailed) as raised:
        missing.check()
    assert raised.value.code == "call.not_found"


def test_a_conflict_says_what_to_do_next(session: zuno.Session) -> None:
    result = session.write("a.py", "other\n")
    assert result.outcome == "error"
    assert result.error is not None and result.error.kind == "MutationConflict"
    assert result.error.conflict is not None
    assert result.error.conflict.requiredActionKind == "read"
    assert "a.py" in result.error.conflict.requiredAction
    assert result.error.conflict.nearest is None


def test_a_command_has_a_receipt(session: zuno.Session) -> None:
    result = session.shell("grep -c nothing a.py | cat")
    assert result.ok and result.exit_code == 1
    assert result.receipt is not None
    assert result.receipt.authority == "authoritative"
    assert result.receipt.exitCode == 1


@pytest.mark.parametrize(
    ("call", "kind", "word"),
    [
        (zuno.Call("no_such_tool"), "unavailable", "no_such_tool"),
        (zuno.Call("read", filepath="a.py"), "invalid_arguments", "filePath"),
        (zuno.Call("read", filePath=7), "invalid_arguments", "filePath"),
        (zuno.Call("read", filePath="a\0b"), "invalid_arguments", "NUL"),
        (zuno.Call("read", "{not json"), "invalid_arguments", "JSON"),
        (zuno.Call("read", "[1]"), "invalid_arguments", "object"),
    ],
)
def test_bad_calls_are_refused_with_a_reason(session: zuno.Session, call: zuno.Call, kind: str, word: str) -> None:
    result = session.dispatch([call])[0]
    assert (result.outcome, result.block_kind) == ("blocked", kind)
    assert word in result.output


def test_ten_megabytes_of_arguments_are_taken(session: zuno.Session, workspace: Path) -> None:
    content = "line of text\n" * 800_000
    session.write("big.txt", content).check()
    assert (workspace / "big.txt").stat().st_size == len(content)


def test_bad_use_of_the_interface_has_a_code_and_a_class(runtime: zuno.Runtime, session: zuno.Session) -> None:
    cases: list[tuple[type[zuno.ZunoError], str, str, object]] = [
        (zuno.ArgumentsError, "arguments.unknown_method", "no.such", {}),
        (zuno.ArgumentsError, "arguments.unknown_field", "session.get", {"sessionId": session.id, "extra": 1}),
        (zuno.ArgumentsError, "arguments.invalid", "session.get", {"sessionId": 7}),
        (zuno.NotFoundError, "not_found.object", "session.get", {"sessionId": "ses_none"}),
    ]
    for kind, code, method, params in cases:
        with pytest.raises(kind) as raised:
            runtime.call(method, params)  # type: ignore[arg-type]
        assert raised.value.code == code, method
        assert raised.value.message
    with pytest.raises(zuno.ArgumentsError, match="surrogate"):
        session.call("read", filePath="\ud800")
    with pytest.raises(zuno.ArgumentsError, match="JSON"):
        session.call("read", filePath=object())
    assert session.read("a.py").ok


def test_a_closed_runtime_says_so(database: Path, workspace: Path) -> None:
    with zuno.open(database) as runtime:
        session = runtime.session(workspace)
    with pytest.raises(zuno.ClosedError) as raised:
        session.read("a.py")
    assert raised.value.code == "closed.object"
    runtime.close()


def test_without_a_handler_what_asks_is_denied(database: Path, workspace: Path) -> None:
    with zuno.open(database, config=ASKING) as runtime:
        result = runtime.session(workspace).write("new.txt", "x")
    assert (result.outcome, result.block_kind) == ("blocked", "denied")
    assert result.error is not None and result.error.denial is not None
    assert result.error.denial.origin == "no_handler"
    assert not (workspace / "new.txt").exists()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b""])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    if not content:
        zuno.open(path).close()
        return
    with pytest.raises(zuno.StoreError) as raised:
        zuno.open(path)
    assert raised.value.code == "store.not_a_database" and str(path) in raised.value.message
    assert path.read_bytes() == content


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(zuno.StoreError) as raised:
        zuno.open(tmp_path / "no" / "state.db")
    assert raised.value.code == "store.missing_directory"


def test_a_session_is_there_again_after_reopening(database: Path, workspace: Path) -> None:
    with zuno.open(database) as runtime:
        session = runtime.session(workspace, title="kept")
        session.read("a.py")
    with zuno.open(database) as runtime:
        again = runtime.session(id=session.id)
        assert again.info.title == "kept"
        assert again.id in [info.id for info in runtime.sessions()]
        assert again.unsettled() == []
        assert json.dumps(again.messages())


def test_the_raw_protocol_reaches_everything(runtime: zuno.Runtime, session: zuno.Session) -> None:
    op = runtime.start("session.get", {"sessionId": session.id})
    item = runtime.next(timeout=10)
    assert item is not None
    assert (item["type"], item["id"], item["error"]) == ("op", op, None)
    assert item["result"]["id"] == session.id
    assert runtime.cancel(op) is False
    assert runtime.next(timeout=0) is None


def test_tool_schemas_come_in_every_form(session: zuno.Session) -> None:
    assert {tool["name"] for tool in session.tools()} >= {"read", "glob", "grep", "write", "shell"}
    assert all(tool["type"] == "function" and tool["function"]["parameters"] for tool in session.tools("openai"))
    assert all(tool["input_schema"]["type"] == "object" for tool in session.tools("anthropic"))
    assert all(tool["inputSchema"]["type"] == "object" for tool in session.tools("mcp"))


def test_arguments_go_by_name_or_in_one_piece(runtime: zuno.Runtime, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    session = runtime.session(workspace)
    results = [
        session.call("read", filePath="a.txt"),
        session.call("read", {"filePath": "a.txt"}),
        session.call("read", '{"filePath": "a.txt"}'),
    ]
    assert len({result.output for result in results}) == 1
    assert session.call("read", '{"filePath": ').block_kind == "invalid_arguments"
    with pytest.raises(TypeError):
        session.call("read", {"filePath": "a.txt"}, limit=1)


def test_the_raw_protocol_tells_of_withdrawn_requests_and_of_the_end(database: Path, workspace: Path) -> None:
    runtime = zuno.open(database, config=ASKING, ports=["approval"])
    session = runtime.session(workspace)
    params = {"sessionId": session.id, "calls": [{"name": "write", "arguments": {"filePath": "n", "content": ""}}]}
    op = runtime.start("session.dispatch", params)
    request = runtime.next(timeout=10)
    assert request is not None and request["kind"] == "approval"
    assert runtime.cancel(op)
    rest = [runtime.next(timeout=10) for _ in range(2)]
    kinds = sorted(item["type"] for item in rest if item is not None)
    assert kinds == ["cancelled", "op"]
    runtime.close()
    assert runtime.next(timeout=10) == {"type": "closed"}
    assert runtime.next(timeout=10) is None
