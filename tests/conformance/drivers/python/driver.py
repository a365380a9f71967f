"""Runs one plan through the Python face's raw protocol: driver.py FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import zuno

WAIT_S = 30.0


class OutOfTime(Exception):
    """No item came."""


def at(document: Any, pointer: str) -> Any:
    for key in pointer.split("/")[1:]:
        try:
            document = document[int(key)] if isinstance(document, list) else document[key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return document


def matches(item: Any, pairs: list[list[str]]) -> bool:
    return all(at(item, pointer) == text for pointer, text in pairs)


def told(error: zuno.ZunoError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "details": dict(error.details)}


class Driver:
    def __init__(self, folder: Path) -> None:
        self.plan = json.loads((folder / "plan.json").read_text())
        self.out = (folder / "transcript").open("w")
        self.saved: dict[str, str] = {}
        self.ops: dict[str, int] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self.step = -1
        self.runtime: zuno.Runtime

    def record(self, end: bool, **facts: Any) -> None:
        self.out.write(json.dumps({"step": self.step, "end": end, **facts}, ensure_ascii=False) + "\n")

    def open(self) -> None:
        options = self.plan["open"]
        names = {"readGlobal": "read_global", "readEnvironment": "read_environment", "readProject": "read_project"}
        reads = {names[key]: value for key, value in options.items() if key in names}
        ports = tuple(options.get("ports", ()))
        self.runtime = zuno.open(options["database"], config=options["config"], ports=ports, **reads)

    def filled(self, text: str) -> str:
        for name, value in self.saved.items():
            text = text.replace("{{" + name + "}}", value)
        return text

    def answer(self, item: dict[str, Any]) -> None:
        for rule in self.plan["answers"]:
            if rule["times"] != 0 and matches(item, rule["when"]):
                rule["times"] -= 1
                if rule["do"] == "respond":
                    self.runtime.respond(item["id"], json.loads(self.filled(rule["answer"])))
                elif rule["do"] == "fail":
                    self.runtime.fail(item["id"], rule["code"], rule["message"])
                return

    def pump(self) -> dict[str, Any]:
        item = self.runtime.next(WAIT_S)
        if item is None:
            raise OutOfTime
        if item["type"] == "op":
            self.ended[item["id"]] = item
        else:
            self.record(False, item=item)
        if item["type"] == "request":
            self.answer(item)
        return item

    def finish(self, op: int, save: list[list[str]]) -> None:
        while op not in self.ended:
            self.pump()
        item = self.ended[op]
        self.record(True, error=item["error"]) if item["error"] else self.record(True, result=item["result"])
        self.keep(item["result"], save)

    def keep(self, document: Any, save: list[list[str]]) -> None:
        for name, pointer in save:
            self.saved[name] = str(at(document, pointer))

    def run(self, step: dict[str, Any]) -> None:
        do, save = step["do"], step["save"]
        if do == "sync":
            result = self.runtime.call(step["method"], json.loads(self.filled(step["params"])))
            self.record(True, result=result)
            self.keep(result, save)
        elif do in ("call", "start"):
            op = self.runtime.start(step["method"], json.loads(self.filled(step["params"])))
            self.ops[step["as"]] = op
            if do == "call":
                self.finish(op, save)
        elif do == "await":
            self.finish(self.ops[step["as"]], save)
        elif do == "until":
            item = self.pump()
            while not matches(item, step["when"]):
                item = self.pump()
            self.record(True, item=item)
            self.keep(item, save)
        elif do == "cancel":
            self.record(True, flag=self.runtime.cancel(self.ops[step["as"]]))
        elif do == "respond":
            request = self.filled(step["request"])
            self.record(True, flag=self.runtime.respond(request, json.loads(self.filled(step["answer"]))))
        elif do == "fail":
            self.record(True, flag=self.runtime.fail(self.filled(step["request"]), step["code"], step["message"]))
        elif do == "close":
            self.runtime.close()
        else:
            self.close()
            self.ended.clear()
            self.open()

    def close(self) -> None:
        self.runtime.close()
        while self.pump()["type"] != "closed":
            pass

    def main(self) -> None:
        try:
            self.open()
        except zuno.ZunoError as error:
            self.record(True, error=told(error))
            return
        try:
            for self.step, step in enumerate(self.plan["steps"]):
                try:
                    self.run(step)
                except zuno.ZunoError as error:
                    self.record(True, error=told(error))
            self.step += 1
            self.close()
        except OutOfTime:
            self.record(False, timeout=True)
            self.runtime.close()


if __name__ == "__main__":
    Driver(Path(sys.argv[1])).main()
