#!/usr/bin/env python3
"""Writes scenarios/*.json. The files are committed; whoever adds a scenario adds it here and runs this."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent / "scenarios"
Json = dict[str, Any]
ALLOW = {"config": {"permission": {"mode": "allow_all"}}}
HOSTED = {"ports": ["approval", "hostTool", "hook"]}
YES = {"kind": "approval", "respond": {"reply": "once"}}
DONE = {"kind": "hostTool", "respond": {"output": "done"}}
NEW = {"call": "session.create", "params": {"directory": "$WS"}, "save": {"s": "/id"}}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "op": {"type": "string"}}}
BLOCKED = ["dispatch-blocked", "tool.dispatch.completed", "tool.result.appended"]


def ask(mode: str) -> Json:
    return {**HOSTED, "config": {"permission": {"mode": mode}}}


def scenario(name: str, spec: str, *steps: Json, **more: Any) -> None:
    case = more.pop("case", None)
    document = {"name": name, "spec": spec.split(), **({"case": case} if case else {}), **more, "steps": list(steps)}
    (OUT / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def call(method: str, params: Json | None = None, expect: Any = None, **more: Any) -> Json:
    step: Json = {"call": method, "params": params or {}, **more}
    return step if expect is None else {**step, "expect": expect}


def refused(method: str, params: Json, code: str) -> Json:
    return {"call": method, "params": params, "error": code}


def of(**more: Any) -> Json:
    return {"sessionId": "{{s}}", **more}


def register(name: str, **more: Any) -> Json:
    return call("tool.register", {"name": name, "description": "A tool.", "inputSchema": SCHEMA, **more}, {"name": name})


def tool(name: str, arguments: Json, part: Json, **more: Any) -> Json:
    """One call; its part."""
    calls = [{"callId": "c1", "name": name, "arguments": arguments}]
    return {"call": "session.dispatch", "params": of(calls=calls), "expect": {"results": [part]}, **more}


def started(name: str, arguments: Json, mark: str = "op") -> Json:
    calls = [{"callId": "c1", "name": name, "arguments": arguments}]
    return {"start": "session.dispatch", "params": of(calls=calls), "as": mark}


def request(kind: str) -> Json:
    return {"until": {"/type": "request", "/kind": kind}, "save": {"r": "/id"}}


def ok(**more: Any) -> Json:
    return {"outcome": "ok", "state": "settled", **more}


def error(kind: str, code: Any = None, **more: Any) -> Json:
    return {"outcome": "error", "error": {"kind": kind, **({"code": code} if code else {})}, **more}


def block(kind: str, **more: Any) -> Json:
    return {"outcome": "blocked", "blockKind": kind, "output": {"$regex": rf"^\[blocked: {kind}\] "}, **more}


def shell(command: str, part: Json, **arguments: Any) -> Json:
    return tool("shell", {"command": command, **arguments}, part)


def events() -> Json:
    return call("event.read", of(after=0))


def opening() -> None:
    for name, options, code in (
        ("open-missing-folder", {"database": "$TOP/none/state.db"}, "store.missing_directory"),
        ("open-empty-path", {"database": ""}, "arguments.invalid"),
        ("open-damaged", {"database": "$WS/state.db"}, {"$regex": "^store\\."}),
        ("open-config-unknown-key", {"config": {"permision": {}}}, {"$regex": "^(config|arguments)\\."}),
        ("open-config-bad-type", {"config": {"permission": {"mode": 7}}}, {"$regex": "^(config|arguments)\\."}),
        ("open-config-bad-mode", {"config": {"permission": {"mode": "yolo"}}}, {"$regex": "^(config|arguments)\\."}),
        ("open-unknown-port", {"ports": ["approvals"]}, {"$regex": "^arguments\\."}),
    ):
        scenario(name, "", open=options, openError=code, files={"state.db": "no database, but long enough " * 40})
    config = {"tool_output": {"max_lines": 100}, "tools": {"nobody": False}}
    scenario(
        "config-effective", "SWITCH-03", call("runtime.config", {}, {"values": {"tool_output": {"max_lines": 100}}}),
        call("runtime.diagnostics", {}, {"diagnostics": {"$any": {"code": "config.unknown_tool"}}}),
        {"sync": "runtime.config"}, open={"config": config},
    )  # fmt: skip


def documents() -> None:
    scenario(
        "documents-bad", "",
        refused("session.git", {}, "arguments.unknown_method"),
        refused("session.get", {}, "arguments.invalid"),
        refused("session.get", {"sessionId": 7}, "arguments.invalid"),
        {"call": "session.get", "params": {"sessionid": "x"},
         "error": {"code": "arguments.unknown_field", "details": {"suggestion": "sessionId"}}},
        refused("session.get", {"sessionId": "ses_x"}, "not_found.object"),
        refused("session.dispatch", {"sessionId": "ses_x", "calls": []}, "not_found.object"),
        refused("artifact.read", {"sessionId": "ses_x", "outputPath": "/x"}, "not_found.object"),
        {"sync": "session.get", "params": {"sessionId": "ses_x"}, "error": "not_found.object"},
        {"sync": "session.git", "error": "arguments.unknown_method"},
    )  # fmt: skip
    scenario("documents-after-close", "", NEW, {"close": True}, {"sync": "session.list", "error": "closed.object"})


def sessions() -> None:
    scenario(
        "session-life", "",
        {"call": "session.create", "params": {"directory": "$WS", "title": "A"}, "save": {"s": "/id"},
         "expect": {"title": "A", "state": "active", "agent": "build", "directory": "$WS"}},
        call("session.get", of(), {"id": {"$regex": "^ses_"}}), call("session.list", {}, {"sessions": {"$length": 1}}),
        call("session.children", of(), {"sessions": []}), call("session.close", of()), call("session.open", of()),
        call("session.archive", of(), {"state": "archived"}), call("session.unarchive", of(), {"state": "active"}),
        {"call": "session.delete", "params": of(confirm=False), "error": {"code": {"$regex": "^arguments"}}},
        call("session.delete", of(confirm=True), {"deleted": {"$regex": "."}} if False else {}),
        refused("session.get", of(), "not_found.object"),
    )  # fmt: skip
    scenario(
        "session-create-refused", "",
        {"call": "session.create", "params": {"directory": "$WS/none"}, "error": {"code": {"$type": "string"}}},
        {"call": "session.create", "params": {"directory": "$WS/file"}, "error": {"code": {"$type": "string"}}},
        {"call": "session.create", "params": {"directory": "$WS", "agent": "nobody"}, "error": {"code": {"$type": "string"}}},
        {"call": "session.create", "params": {"directory": "$WS", "mode": "party"}, "error": {"code": {"$type": "string"}}},
        files={"file": ""},
    )  # fmt: skip
    scenario(
        "session-survives-restart", "REFUSAL-04", NEW, tool("write", {"filePath": "a", "content": "1\n"}, ok()),
        {"restart": True}, call("session.messages", of(), {"messages": [{"parts": [{"output": {"$type": "string"}}]}]}),
        call("session.open", of(), {"state": "active"}), tool("read", {"filePath": "a"}, ok(output={"$contains": "1"})),
        events(), open={**ALLOW, "database": "$TOP/state.db"}, after={"a": "1\n"},
    )  # fmt: skip
    scenario(
        "session-tool-formats", "SURFACE-01", NEW,
        *(call("session.tools", of(format=form), {"tools": {"$type": "array"}})
          for form in ("native", "openai", "anthropic", "mcp")),
        refused("session.tools", of(format="xml"), "arguments.invalid"),
    )  # fmt: skip
    scenario("session-interrupt-idle", "", NEW, call("session.interrupt", of(), {"interrupted": False}))
    scenario(
        "message-idempotent", "REPLAY-05", register("echo"), NEW,
        *(call("session.dispatch", of(messageId="m1", calls=[{"callId": "a", "name": "echo", "arguments": {"text": "x"}}]),
               {"messageId": "m1", "results": [ok()]}) for _ in range(2)),
        refused("session.dispatch", of(messageId="m1", calls=[{"callId": "a", "name": "echo", "arguments": {"text": "y"}}]),
                "conflict.call_changed"),
        open=HOSTED, hostAnswers=[YES, DONE], requests=["approval", "hostTool"],
    )  # fmt: skip
    calls = [{"callId": "a", "name": "read", "arguments": {"filePath": "a"}},
             {"callId": "b", "name": "write", "arguments": {"filePath": "b", "content": "2"}}]  # fmt: skip
    scenario(
        "message-two-calls-final", "", NEW,
        call("session.dispatch", of(calls=calls, final=True), {"results": [{"callId": "a"}, {"callId": "b"}]}),
        call("session.dispatch", of(calls=[]), {"results": []}), events(),
        open=ALLOW, files={"a": "1"}, after={"b": "2"},
    )  # fmt: skip


def dispatching() -> None:
    scenario(
        "dispatch-pipeline", "REFUSAL-04 CONCURRENCY-08", register("echo"), NEW,
        tool("echo", {"text": "hi", "intent": "say hi"}, ok(output="done", intent="say hi", effect="SideEffecting")),
        events(), open=HOSTED, hostAnswers=[YES, DONE], requests=["approval", "hostTool"],
        events=["session.created", "session.lease", "cycle.started", "turn.started", "tool.call.started",
                "permission.asked", "permission.settled", "tool.dispatch.started", "tool.dispatch.completed",
                "tool.result.appended"],
    )  # fmt: skip
    for kind, name, arguments in (
        ("invalid_arguments", "echo", {"txt": "x"}), ("unavailable", "nothing", {}), ("denied", "echo", {"text": "x"}),
    ):  # fmt: skip
        scenario(
            f"refusal-{kind}", "REFUSAL-01 REFUSAL-02 REFUSAL-03 REFUSAL-05", register("echo"), NEW,
            tool(name, arguments, block(kind, dispatchedAt=None)), events(), open={"ports": ["hostTool"]}, requests=[],
        )  # fmt: skip
    for effect in ("ReadOnly", "UserMediated", "Delegating", "SideEffecting"):
        for replay, concurrency in (("Never", "Exclusive"), ("Safe", "ParallelSafe"), ("Never", "IsolatedBackground")):
            kinds = {"effect": effect, "replay": replay, "concurrency": concurrency}
            scenario(
                f"declared-{effect}-{replay}-{concurrency}", "SURFACE-01 EFFECT-05", register("t", **kinds), NEW,
                call("tool.list", {}, {"tools": {"$any": {"name": "t", **kinds}}}), tool("t", {}, ok(**kinds)),
                open=HOSTED, hostAnswers=[YES, DONE],
            )  # fmt: skip
    mapping = {"argument": "op", "map": {"get": "ReadOnly", "close": "SideEffecting"}}
    scenario(
        "classifier", "EFFECT-11", register("ticket", effectByArgument=mapping), NEW,
        *(tool("ticket", arguments, ok(effect=effect)) for arguments, effect in (
            ({"op": "get"}, "ReadOnly"), ({"op": "close"}, "SideEffecting"), ({"op": "x"}, "SideEffecting"),
            ({}, "SideEffecting"))),
        open=HOSTED, hostAnswers=[YES, DONE],
    )  # fmt: skip
    scenario(
        "switches", "SWITCH-01 SWITCH-02 SWITCH-03", *(register(name) for name in ("one", "two", "three")), NEW,
        call("session.tools", of()), tool("one", {}, block("unavailable")), tool("two", {}, block("denied")),
        tool("three", {}, ok()), open={**HOSTED, "config": {"tools": {"one": False, "two": True},
        "permission": {"rules": {"two": "deny"}}}}, hostAnswers=[YES, DONE],
    )  # fmt: skip
    include = {"directory": "$WS", "profile": {"tools": {"include": ["slot"], "exclude": ["glob"]}}}
    unknown = {"directory": "$WS", "profile": {"tools": {"include": ["slto"]}}}
    scenario(
        "profile-slot", "SURFACE-27 SURFACE-28", register("slot", surface="slot"), NEW,
        tool("slot", {}, block("unavailable")), {**NEW, "params": include}, tool("slot", {}, ok()),
        tool("glob", {"pattern": "*"}, block("unavailable")),
        {"call": "session.create", "params": unknown,
         "error": {"code": "arguments.unknown_name", "details": {"suggestion": "slot"}}},
        open=HOSTED, hostAnswers=[YES, DONE],
    )  # fmt: skip
    scenario(
        "agent-allowlist", "SWITCH-04", register("shown"), {**NEW, "params": {"directory": "$WS", "agent": "auditor"}},
        call("session.tools", of(), {"tools": [{"name": "read"}]}), tool("shown", {}, block("unavailable")),
        open={**HOSTED, "config": {"agents": {"auditor": {"tools": ["read"]}}}},
    )  # fmt: skip
    bad = {"description": "", "inputSchema": {"type": "object", "properties": {}}}
    scenario(
        "registrations", "",
        refused("tool.register", {**bad, "name": "1bad"}, "arguments.bad_tool"),
        refused("tool.register", {**bad, "name": "a" * 65}, "arguments.bad_tool"),
        refused("tool.register", {**bad, "name": "t", "inputSchema": {"type": "string"}}, "arguments.bad_tool"),
        refused("tool.register", {**bad, "name": "read"}, "conflict.name_taken"),
        call("tool.register", {**bad, "name": "glob", "replace": True}, {"name": "glob"}),
        call("tool.unregister", {"name": "glob"}, {"removed": True}),
        call("tool.unregister", {"name": "glob"}, {"removed": False}),
        {"sync": "tool.list"}, open=HOSTED,
    )  # fmt: skip


def hosting() -> None:
    answers = {
        "full": ({"respond": {"output": "out", "title": "T", "metadata": {"mine": 1, "verification": 2}}},
                 ok(output="out", title="T", metadata={"mine": 1, "verification": None})),
        "typed-error": ({"respond": {"error": {"kind": "Failed", "code": "mine", "message": "It broke."}}},
                        error("Failed", "mine")),
        "odd": ({"respond": {"no": 1}}, error("Failed")),
        "raised": ({"fail": ["host.failed", "boom"]}, error("Failed")),
        "dropped": ({"fail": ["host.dropped", "gone"]}, {"outcome": "uncertain", "error": {"kind": "Uncertain"}}),
    }  # fmt: skip
    for name, (answer, part) in answers.items():
        scenario(
            f"host-{name}", "REFUSAL-06 REPLAY-10", register("t"), NEW, tool("t", {}, part), call("session.unsettled", of()),
            events(), open=HOSTED, hostAnswers=[YES, {"kind": "hostTool", **answer}], requests=["approval", "hostTool"],
        )  # fmt: skip
    for effect, part in (("ReadOnly", error("Timeout")), ("SideEffecting", {"outcome": "uncertain"}),
                         ("Delegating", {"outcome": "uncertain"})):  # fmt: skip
        scenario(
            f"host-timeout-{effect}", "REPLAY-10", register("t", effect=effect, timeoutMs=50), NEW, tool("t", {}, part),
            {"until": {"/type": "cancelled"}}, open=HOSTED, hostAnswers=[YES, {"kind": "hostTool", "never": True}],
        )  # fmt: skip
    scenario(
        "host-late-answer", "", register("t", effect="ReadOnly"), NEW, started("t", {}), request("hostTool"),
        {"respond": "{{r}}", "answer": {"output": "now"}, "expect": True}, {"await": "op", "expect": {"results": [ok(output="now")]}},
        {"respond": "{{r}}", "answer": {"output": "again"}, "expect": False},
        {"fail": "{{r}}", "code": "host.failed", "message": "late", "expect": False},
        {"cancel": "op", "expect": False}, open=HOSTED, hostAnswers=[YES],
    )  # fmt: skip
    for effect, outcome in (("ReadOnly", "error"), ("SideEffecting", "uncertain")):
        scenario(
            f"cancel-host-{effect}", "", register("t", effect=effect), NEW, started("t", {}), request("hostTool"),
            {"cancel": "op", "expect": True}, {"await": "op", "expect": {"results": [{"outcome": outcome}]}},
            {"respond": "{{r}}", "answer": {"output": "late"}, "expect": False},
            open=HOSTED, hostAnswers=[YES],
        )  # fmt: skip
    scenario(
        "interrupt-waiting-approval", "", NEW, started("write", {"filePath": "a", "content": "x"}), request("approval"),
        call("session.interrupt", of(), {"interrupted": True}), {"await": "op", "expect": {"results": [{"dispatchedAt": None}]}},
        open=HOSTED, after={"a": None},
    )  # fmt: skip
    verdict = of(callId="c1", verdict="did_not_happen", evidence="looked")
    scenario(
        "reconcile", "", register("t"), NEW, tool("t", {}, {"outcome": "uncertain"}),
        call("session.unsettled", of(), {"calls": {"$length": 1}}),
        call("session.reconcile", verdict, {"outcome": "uncertain", "uncertain": {"reconciledAt": {"$type": "number"}}}),
        refused("session.reconcile", verdict, "conflict.already_reconciled"),
        call("session.unsettled", of(), {"calls": []}), events(),
        open=HOSTED, hostAnswers=[YES, {"kind": "hostTool", "fail": ["host.dropped", "gone"]}],
    )  # fmt: skip
    for name, answer, part in (
        ("continue", {"decision": "continue"}, ok()),
        ("block", {"decision": "block", "reason": "not today"}, block("denied", error={"denial": {"origin": "hook"}})),
        ("rewrite", {"decision": "rewrite", "arguments": {"text": "new"}}, ok(effectiveArguments={"text": "new"})),
    ):  # fmt: skip
        scenario(
            f"hook-before-{name}", "", register("t"), call("hook.register", {"hook": "beforeCall"}, save={"h": "/hookId"}),
            NEW, tool("t", {"text": "old"}, part), call("hook.unregister", {"hookId": "{{h}}"}, {"removed": True}),
            tool("t", {"text": "old"}, ok(effectiveArguments=None)),
            open=HOSTED, hostAnswers=[YES, DONE, {"kind": "hook", "respond": answer}],
        )  # fmt: skip
    scenario(
        "hook-after-facts", "", register("t"), call("hook.register", {"hook": "afterCall", "tools": ["t"]}), NEW,
        tool("t", {}, ok(metadata={"seen": 1})), tool("read", {"filePath": "a"}, ok()), files={"a": "1"},
        open=HOSTED, hostAnswers=[YES, DONE, {"kind": "hook", "respond": {"metadata": {"seen": 1}}}],
    )  # fmt: skip


def permissions() -> None:
    for mode in ("standard", "strict", "allow_all"):
        scenario(
            f"mode-{mode}", "EFFECT-06 EFFECT-07", NEW,
            *(tool("write", {"filePath": name, "content": name}, ok()) for name in ("a", "b")),
            tool("read", {"filePath": "a"}, ok()), call("permission.grants", of()), events(),
            open=ask(mode), hostAnswers=[{"kind": "approval", "respond": {"reply": "once"}}], after={"a": "a", "b": "b"},
        )  # fmt: skip
    for reply, part in (("once", ok()), ("always", ok()), ("reject", block("denied"))):
        scenario(
            f"approval-{reply}", "", NEW,
            *(tool("write", {"filePath": name, "content": name}, part) for name in ("a", "b")),
            call("permission.grants", of()), call("permission.list", {}, {"requests": []}), events(),
            open={"ports": ["approval"]}, hostAnswers=[{"kind": "approval", "respond": {"reply": reply, "message": "why"}}],
        )  # fmt: skip
    for name, answer in (("odd", {"respond": {"reply": "maybe"}}), ("failed", {"fail": ["host.failed", "boom"]})):
        scenario(
            f"approval-{name}", "", NEW, tool("write", {"filePath": "a", "content": "x"}, block("denied")),
            open={"ports": ["approval"]}, hostAnswers=[{"kind": "approval", **answer}], after={"a": None},
        )  # fmt: skip
    scenario(
        "approval-second-reply", "", NEW, started("write", {"filePath": "a", "content": "x"}),
        {"until": {"/type": "request", "/kind": "approval"}, "save": {"r": "/id", "p": "/payload/id"}},
        call("permission.list", of(), {"requests": {"$length": 1}}),
        call("permission.reply", {"requestId": "{{p}}", "reply": "once"}), {"await": "op", "expect": {"results": [ok()]}},
        {"respond": "{{r}}", "answer": {"reply": "reject"}, "expect": False},
        {"call": "permission.reply", "params": {"requestId": "{{p}}", "reply": "reject"}, "error": {"code": {"$regex": "^(closed|conflict)"}}},
        {"call": "question.respond", "params": {"requestId": "{{p}}", "commandId": "c", "expectedRevision": 1,
         "action": {"type": "skip"}}, "error": "not_found.object"},
        open={"ports": ["approval"]}, case=[89], after={"a": "x"},
    )  # fmt: skip
    scenario("rules-deny", "", NEW, tool("write", {"filePath": "a", "content": "x"}, block("denied")),
             open={"config": {"permission": {"rules": {"edit": "deny"}}}}, after={"a": None})  # fmt: skip


def files() -> None:
    write = lambda part, **arguments: tool("write", arguments, part)  # noqa: E731
    source = "a \\n b \\0 c \\' d \\u2260 e \\\\ f ≠ 😀\r\n\tend"
    scenario(
        "write-escapes", "", NEW, write(ok(), filePath="a.c", content=source),
        tool("read", {"filePath": "a.c"}, ok(output={"$contains": "\\n b \\0 c \\' d \\u2260 e \\\\ f ≠ 😀"})),
        open=ALLOW, case=[22], after={"a.c": source},
    )  # fmt: skip
    scenario("write-overwrites-after-read", "", NEW, tool("read", {"filePath": "a"}, ok()),
             write(ok(), filePath="a", content="new\n"), open=ALLOW, files={"a": "old\n"}, after={"a": "new\n"})  # fmt: skip
    scenario("write-unread", "", NEW, write(error("MutationConflict"), filePath="a", content="new"), open=ALLOW,
             files={"a": "old"}, after={"a": "old"})  # fmt: skip
    scenario("write-folder", "", NEW, write({"outcome": {"$regex": "error|blocked"}}, filePath="d", content="x"),
             write(ok(), filePath="e/f/g", content="x"), write(block("invalid_arguments"), content="x"),
             open=ALLOW, files={"d": {"folder": True}}, after={"e/f/g": "x"})  # fmt: skip
    scenario("write-outside", "", NEW, write(block("denied"), filePath="$TOP/out.txt", content="x"),
             write(block("denied"), filePath="link/x", content="x"), files={"link": {"link": "../"}})  # fmt: skip
    lines = "".join(f"line {n}\n" for n in range(1, 3001))
    scenario("read-windows", "", NEW, tool("read", {"filePath": "a"}, ok()),
             tool("read", {"filePath": "a", "offset": 2990, "limit": 5}, ok(output={"$contains": "line 2990"})),
             tool("read", {"filePath": "a", "offset": 9000}, {"outcome": {"$type": "string"}}),
             tool("read", {"filePath": "a", "ofset": 1}, block("invalid_arguments")), open=ALLOW, files={"a": lines})  # fmt: skip
    scenario("read-errors", "", NEW, tool("read", {"filePath": "none.txt"}, error("Failed")),
             tool("read", {"filePath": "bin"}, {"outcome": {"$type": "string"}}),
             tool("read", {"filePath": "d"}, {"outcome": {"$type": "string"}}),
             tool("read", {"filePath": "nones"}, error("Failed")),
             open=ALLOW, files={"nome.txt": "x", "bin": {"base64": "AAEC/w=="}, "d/x": "1"})  # fmt: skip
    tree = {"src/a.py": "def one():\n    pass\n", "src/b.py": "two = one\n", "c.txt": "one\n"}
    scenario("glob", "", NEW, tool("glob", {"pattern": "**/*.py"}, ok(output={"$contains": "b.py"})),
             tool("glob", {"pattern": "*.none"}, ok()), tool("glob", {"pattern": "[", "path": "src"}, {"outcome": {"$type": "string"}}),
             tool("glob", {"pattern": "*", "path": "none"}, {"outcome": {"$regex": "blocked|error"}}), open=ALLOW, files=tree)  # fmt: skip
    scenario("grep", "", NEW, tool("grep", {"pattern": "one", "include": "*.txt"}, ok(output={"$contains": "c.txt"})),
             tool("grep", {"pattern": "nowhere"}, ok()), tool("grep", {"pattern": "("}, {"outcome": {"$regex": "blocked|error"}}),
             tool("grep", {"pattern": "one", "path": "none"}, {"outcome": {"$regex": "blocked|error"}}), open=ALLOW, files=tree)  # fmt: skip


def shells() -> None:
    for name, command, facts, more in (
        ("exit-3", "echo out; echo err >&2; exit 3", {"exitCode": 3, "outputBytes": 8}, {}),
        ("silent", "true", {"exitCode": 0, "verification": {"exitAuthority": "authoritative"}}, {}),
        ("pipefail", "false | cat", {"exitCode": 1, "verification": {"exitPolicy": "pipefail"}}, {}),
        ("policy-last", "false | true", {"exitCode": 0, "verification": {"exitAuthority": "derived"}}, {"exitPolicy": "last"}),
        ("policy-all", "false; echo x", {"exitCode": 1}, {"exitPolicy": "all"}),
        ("masked", "false || echo ok", {"verification": {"limitation": {"code": "masking_fallback"}}}, {}),
        ("killed", "kill -9 $$", {"exitCode": None, "signal": "SIGKILL"}, {}),
        ("missing-program", "no_such_program_anywhere", {"exitCode": 127}, {}),
    ):  # fmt: skip
        scenario(f"shell-{name}", "EXIT-01 EXIT-10 GUARD-13", NEW, shell(command, ok(metadata=facts), **more), events(),
                 open=ALLOW)  # fmt: skip
    scenario("shell-refused", "", NEW, shell(" \n ", block("invalid_arguments", error={"code": "blank_command"})),
             shell("touch x", block("invalid_arguments"), workdir="none"), shell("touch x", block("invalid_arguments"), exitPolicy="some"),
             open=ALLOW, after={"x": None})  # fmt: skip
    scenario(
        "shell-withheld", "OUTPUT-04 BG-11", NEW,
        {**shell("seq 1 30000", ok()), "save": {"path": "/results/0/metadata/outputPath"}},
        open=ALLOW,
    )  # fmt: skip
    environment = {"set": {"ZUNO_NEEDED": "v"}, "remove": ["HOME"]}
    scenario("shell-environment", "ENV-11 ENV-12", NEW, shell('echo "$ZUNO_NEEDED|$HOME"', ok(output={"$regex": r"^v\|\n"})),
             open={**ALLOW, "ports": ["environment"]}, hostAnswers=[{"kind": "environment", "respond": environment}])  # fmt: skip
    scenario("shell-environment-fails", "", NEW, shell("touch ran", error("Failed", "environment")), after={"ran": None},
             open={**ALLOW, "ports": ["environment"]}, hostAnswers=[{"kind": "environment", "fail": ["host.failed", "no"]}])  # fmt: skip
    scenario("shell-cancel-before-start", "", NEW, started("shell", {"command": "touch ran"}), request("environment"),
             {"cancel": "op", "expect": True}, {"await": "op"}, open={**ALLOW, "ports": ["environment"]}, after={"ran": None})  # fmt: skip


def questions() -> None:
    items = [{"question": "Which database?", "header": "Database", "options": [
                {"label": "SQLite", "description": "One file."}, {"label": "Postgres", "description": "A server."}]},
             {"question": "Which port?", "header": "Port"}]  # fmt: skip
    publish = {"call": "question.publish", "save": {"q": "/id"}, "expect": {"revision": 1, "state": "pending"},
               "params": of(mode="deferred", purpose="clarification", questions=items)}  # fmt: skip

    def say(command: str, revision: int, action: Json, expect: Json | None = None, **more: Any) -> Json:
        params = {"requestId": "{{q}}", "commandId": command, "expectedRevision": revision, "action": action}
        return {"call": "question.respond", "params": params, **more, **({"expect": expect} if expect else {})}

    def answer(**answers: list[str]) -> Json:
        return {"type": "answer", "answers": answers}

    full = answer(q1=["SQLite"], q2=["80"])
    scenario("question-partial", "QUESTION-13 QUESTION-14", NEW, publish,
             say("c1", 1, answer(q1=["SQLite"]), {"question": {"state": "pending", "revision": 2}, "duplicate": False}),
             say("c2", 2, answer(q2=["80"]), {"question": {"state": "answered", "revision": 3}}),
             call("question.get", {"requestId": "{{q}}"}, {"state": "answered"}), call("question.list", of(), {"questions": []}),
             events())  # fmt: skip
    scenario("question-defer-skip", "QUESTION-16", NEW, publish,
             say("c1", 1, {"type": "defer", "draftAnswers": {"q1": ["Post"]}}, {"question": {"draftAnswers": {"q1": ["Post"]}}}),
             say("c2", 2, {"type": "skip"}, {"question": {"state": "skipped"}}), say("c3", 3, full, error={"code": {"$type": "string"}}),
             events())  # fmt: skip
    scenario("question-stale-and-repeated", "QUESTION-15 QUESTION-17 QUESTION-18", NEW, publish,
             say("c1", 2, full, error={"code": "conflict.stale_revision", "details": {"expected": 2, "actual": 1}}),
             say("c1", 1, full, {"duplicate": False}), say("c1", 1, full, {"duplicate": True}),
             say("c1", 1, {"type": "skip"}, error="conflict.command_conflict"), say("", 1, full, error="arguments.invalid"),
             {"call": "permission.reply", "params": {"requestId": "{{q}}", "reply": "once"}, "error": "not_found.object"},
             case=[89])  # fmt: skip
    scenario("question-refused", "", NEW,
             refused("question.publish", {**publish["params"], "questions": []}, "arguments.invalid"),
             refused("question.get", {"requestId": "que_x"}, "not_found.object"),
             {**publish, "params": {**publish["params"], "sessionId": "ses_x"}, "expect": None, "save": {}, "error": "not_found.object"})  # fmt: skip
    scenario("question-wait", "", NEW, publish, {"start": "question.wait", "as": "w", "params": {"requestId": "{{q}}", "afterRevision": 1}},
             say("c1", 1, full), {"await": "w", "expect": {"changed": True, "question": {"revision": 2}}},
             call("question.wait", {"requestId": "{{q}}", "afterRevision": 2, "timeoutMs": 1}, {"changed": False}))  # fmt: skip
    scenario("question-wait-cancelled", "", NEW, publish,
             {"start": "question.wait", "as": "w", "params": {"requestId": "{{q}}", "afterRevision": 1}},
             {"cancel": "w", "expect": True}, {"await": "w", "error": {"code": {"$type": "string"}}})  # fmt: skip
    scenario("question-tool", "QUESTION-07 QUESTION-10", NEW, tool("question", {"questions": items}, ok()),
             call("question.list", of(), {"questions": [{"mode": "deferred"}]}), open=ALLOW)  # fmt: skip
    scenario("question-survives-restart", "QUESTION-01 QUESTION-04", NEW, publish, {"restart": True},
             call("question.get", {"requestId": "{{q}}"}, {"revision": 1}), call("session.open", of()), say("c1", 1, full),
             open={"database": "$TOP/state.db"})  # fmt: skip
    scenario("waiting", "", NEW, publish, started("write", {"filePath": "a", "content": "x"}), request("approval"),
             call("runtime.waiting", {}, {"waiting": {"$any": {"kind": "permission"}}}),
             call("runtime.waiting", {}, {"waiting": {"$any": {"kind": "question"}}}),
             {"respond": "{{r}}", "answer": {"reply": "once"}, "expect": True}, {"await": "op"},
             call("runtime.waiting", {}, {"waiting": {"$length": 1}}), open={"ports": ["approval"]}, case=[91])  # fmt: skip


def streams() -> None:
    subscribe = call("event.subscribe", of(after=0, live=False), {"subscriptionId": {"$type": "number"}})
    until = {"until": {"/type": "event", "/event/type": "tool.result.appended"}}
    scenario("events-subscribe", "", NEW, subscribe, tool("write", {"filePath": "a", "content": "x"}, ok()), until,
             call("event.unsubscribe", {"subscriptionId": 1}, {"removed": True}),
             call("event.unsubscribe", {"subscriptionId": 1}, {"removed": False}), open=ALLOW)  # fmt: skip
    scenario("events-read", "", NEW, tool("write", {"filePath": "a", "content": "x"}, ok()),
             call("event.read", of(after=2, limit=2), {"events": [{"seq": 3}, {"seq": 4}]}),
             refused("event.read", of(), "arguments.invalid"), call("event.read", of(after=9999), {"events": []}),
             refused("event.read", {"sessionId": "ses_x", "after": 0}, "not_found.object"),
             refused("event.subscribe", {"after": 0}, "arguments.invalid"), open=ALLOW)  # fmt: skip
    scenario("events-unread-with-approvals", "", register("t"),
             call("hook.register", {"hook": "beforeCall"}), NEW, subscribe,
             *(tool("t", {"text": str(n)}, ok(output="done")) for n in range(100)),
             call("event.read", of(after=0, limit=1000), {"events": {"$length": 804}}) if False else call("session.unsettled", of(), {"calls": []}),
             open=HOSTED, hostAnswers=[YES, DONE, {"kind": "hook", "respond": {"decision": "continue"}}], case=[95])  # fmt: skip


def main() -> None:
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.json"):
        old.unlink()
    for table in (opening, documents, sessions, dispatching, hosting, permissions, files, shells, questions, streams):
        table()


if __name__ == "__main__":
    main()
