"""What needs no runtime: records, formats, declarations, options, the doctor's table."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zuno
from zuno import _doctor, _errors, _host, _json, _options, _results, _views, formats

PART: dict[str, Any] = {
    "tool": "read",
    "callId": "call_1",
    "outcome": "ok",
    "blockKind": None,
    "title": "a.png",
    "output": "text",
    "error": None,
    "metadata": {},
    "effect": "ReadOnly",
    "replay": "Safe",
    "concurrency": "ParallelSafe",
    "continuation": "continue",
    "messageId": "msg_1",
    "sessionId": "ses_1",
    "attachments": [],
    "arguments": {},
}


def part(**changes: Any) -> zuno.Result:
    return _results.result({**PART, **changes})


def test_records_are_read_in_both_spellings() -> None:
    record = zuno.Record({"requiredAction": "read", "nested": {"startLine": 3}, "list": [{"x": 1}]})
    assert record.requiredAction == record.required_action == record["requiredAction"] == "read"
    assert record.nested.start_line == 3 and record.list[0].x == 1
    assert "requiredAction" in dir(record) and record == {**record}
    with pytest.raises(AttributeError, match="has no field 'other'"):
        record.other  # noqa: B018
    with pytest.raises(AttributeError):
        record.nested = 1
    assert pickle.loads(pickle.dumps(record)) == record
    assert zuno.Conflict({"kind": "StaleRead"}).candidates is None


def test_errors_have_the_class_of_their_code() -> None:
    from zuno._zuno import error_codes

    codes = dict(error_codes())
    assert {"store.damaged", "permission.denied", "sandbox.unavailable", "host.gone"} <= set(codes)
    for code in codes:
        error = _errors.make(code, "Do this next.", {"a": 1})
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.code, again.message, again.details) == (type(error), code, "Do this next.", {"a": 1})
    assert isinstance(_errors.make("closed.forked", ""), zuno.ForkError)
    assert isinstance(_errors.make("store.locked", ""), zuno.StoreError)
    assert type(_errors.make("internal.panic", "")) is zuno.ZunoError


def test_openai_calls_and_messages() -> None:
    sdk = SimpleNamespace(id="c1", function=SimpleNamespace(name="read", arguments='{"filePath":"a"}'))
    plain = {"id": "c2", "type": "function", "function": {"name": "glob", "arguments": "{broken"}}
    item = {"type": "function_call", "call_id": "c3", "name": "grep", "arguments": ""}
    assert formats.openai_calls([sdk, plain, item, {"type": "reasoning"}]) == [
        zuno.Call("read", '{"filePath":"a"}', call_id="c1"),
        zuno.Call("glob", "{broken", call_id="c2"),
        zuno.Call("grep", "{}", call_id="c3"),
    ]
    assert formats.openai_messages([part()]) == [{"role": "tool", "tool_call_id": "call_1", "content": "text"}]
    (answer,) = formats.openai_messages([part()], responses=True)
    assert answer == {"type": "function_call_output", "call_id": "call_1", "output": "text"}


def test_anthropic_calls_and_message() -> None:
    content = [
        {"type": "text", "text": "hm"},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"filePath": "a"}},
    ]
    assert formats.anthropic_calls(content) == [zuno.Call("read", {"filePath": "a"}, call_id="t1")]
    image = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"}
    message = formats.anthropic_message([part(attachments=[image]), part(outcome="error", output="")])
    first, second = message["content"]
    assert message["role"] == "user" and "is_error" not in first and second["is_error"] is True
    assert first["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert second["content"] == []


def test_mcp_call_and_result() -> None:
    assert formats.mcp_call({"name": "glob"}) == zuno.Call("glob", {})
    pdf = {"type": "file", "mime": "application/pdf", "filename": None, "url": "data:application/pdf;base64,AA"}
    answer = formats.mcp_result(part(attachments=[pdf], outcome="blocked"))
    assert answer["isError"] is True and answer["content"][1]["resource"]["blob"] == "AA"


def test_values_become_json_or_a_clear_error() -> None:
    assert _json.dumps({"p": Path("a/b"), "s": {"y", "x"}}) == '{"p":"a/b","s":["x","y"]}'
    circle: list[Any] = []
    circle.append(circle)
    for bad in (float("nan"), object(), circle, b"bytes", "\udc80"):
        with pytest.raises(zuno.ArgumentsError) as raised:
            _json.dumps({"value": bad})
        assert raised.value.code == "arguments.json"


def test_the_environment_answer_is_the_whole_environment() -> None:
    payload = {"env": {"PATH": "/bin", "HOME": "/root", "A": "1"}}
    answer = _host.environment_answer(payload, {"PATH": "/bin", "A": "2", "B": "3"})
    assert answer == {"set": {"A": "2", "B": "3"}, "remove": ["HOME"]}
    assert _host.environment_answer(payload, None) == {"set": {}, "remove": []}


def test_the_same_answer_has_the_same_command_id() -> None:
    raw = {
        "id": "que_1",
        "origin": {"sessionId": "ses_1"},
        "revision": 3,
        "mode": "deferred",
        "purpose": "clarification",
        "state": "pending",
        "questions": [],
        "answers": {},
    }
    question = _views.question_view(raw)
    yes, no = (_views.answer_action({"q1": word}) for word in ("Yes", "No"))
    assert yes == {"type": "answer", "answers": {"q1": ["Yes"]}}
    assert _views.command_id(question, yes) == _views.command_id(_views.question_view(raw), yes)
    assert _views.command_id(question, yes) != _views.command_id(question, no)
    assert _views.command_id(question, yes) != _views.command_id(_views.question_view({**raw, "revision": 4}), yes)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("on_path", "packaged", "chosen"),
    [
        (None, True, True),
        ("ripgrep 13.0.0", True, True),
        ("ripgrep 14.1.0 (rev x)", True, False),
        ("something else", True, True),
        (None, False, False),
    ],
)
def test_the_packaged_ripgrep_steps_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_path: str | None, packaged: bool, chosen: bool
) -> None:
    ours = _program(tmp_path / "scripts" / "rg", "echo ripgrep 15.1.0")
    monkeypatch.setattr(_options, "packaged_ripgrep", lambda: str(ours) if packaged else None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + os.pathsep + "/bin")
    if on_path is not None:
        _program(tmp_path / "bin" / "rg", f"echo '{on_path}'")
    config = {"search": {}, "tools": {"webfetch": False}}
    wanted = {**config, "search": {"ripgrep_path": str(ours)}} if chosen else config
    assert _options.with_ripgrep(config) == wanted


def test_a_configured_ripgrep_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_options, "packaged_ripgrep", lambda: "/ours/rg")
    config = {"search": {"ripgrep_path": "/mine/rg"}}
    assert _options.with_ripgrep(config) is config


def test_the_doctors_table_fits_eighty_columns() -> None:
    findings = [
        _doctor.Finding("store", "missing", "store.read_only", "Give the account write access to the folder. " * 4),
        _doctor.Finding("zuno", "ok", "fact " * 40, "not shown"),
    ]
    table = _doctor.render(findings, colour=False)
    assert max(map(len, table.splitlines())) <= 80
    assert "not shown" not in table and "1 of 2 need attention." in table
    assert "\x1b[31m" in _doctor.render(findings, colour=True)


def test_the_doctor_looks_at_a_database(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text("no database " * 100)
    assert _doctor.store(str(tmp_path / "bad.db")).fact == "store.not_a_database"
    assert _doctor.store(str(tmp_path / "no" / "x.db")).state == "missing"
    assert _doctor.store(str(tmp_path / "new.db")).state == "ok" and not (tmp_path / "new.db").exists()
