#!/usr/bin/env python3
"""Runs every scenario through every face and compares the transcripts: with the scenario, and with each other.

Usage: check.py FOLDER FACE=COMMAND... ; a command gets the folder of one plan, exits with 0, and leaves `transcript`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from normal import normalised

HERE = Path(__file__).resolve().parent
LIMIT_S = 60
# The same for every face: commands inherit it, and the environment port shows it.
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"LC_ALL": "C.UTF-8"}
FORMS = {"call", "sync", "start", "await", "until", "cancel", "respond", "fail", "restart", "close"}


def pairs(match: dict[str, str]) -> list[list[str]]:
    return [[pointer, text] for pointer, text in match.items()]


def plan(scenario: dict[str, Any], top: Path) -> dict[str, Any]:
    """The scenario as a driver reads it: documents as texts, conditions as pairs of pointer and text."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False).replace("$WS", f"{top}/ws").replace("$TOP", str(top))

    def condition(kind: str, match: dict[str, str]) -> list[list[str]]:
        return [["/type", "request"], ["/kind", kind], *pairs(match)]

    options = {"database": ":memory:", **scenario.get("open", {})}
    config = {"search": {"ripgrep_path": os.environ["ZUNO_TEST_RG"]}, **options.get("config", {})}
    answers = []
    for rule in scenario.get("hostAnswers", []):
        done = {"when": condition(rule["kind"], rule.get("match", {})), "times": rule.get("times", -1)}
        if "respond" in rule:
            done |= {"do": "respond", "answer": text(rule["respond"])}
        elif "fail" in rule:
            done |= {"do": "fail", "code": rule["fail"][0], "message": rule["fail"][1]}
        else:
            done |= {"do": "never"}
        answers.append(done)
    steps = []
    for step in scenario["steps"]:
        (form,) = FORMS & step.keys()
        done = {"do": form, "save": [[name, pointer] for name, pointer in step.get("save", {}).items()]}
        if form in ("call", "sync", "start"):
            done |= {"method": step[form], "params": text(step.get("params", {})), "as": step.get("as", "")}
        elif form in ("await", "cancel"):
            done |= {"as": step[form]}
        elif form == "until":
            done |= {"when": pairs(step["until"])}
        elif form == "respond":
            done |= {"request": step["respond"], "answer": text(step["answer"])}
        elif form == "fail":
            done |= {"request": step["fail"], "code": step["code"], "message": step["message"]}
        steps.append(done)
    return {"open": json.loads(text({**options, "config": config})), "answers": answers, "steps": steps}


def prepare(scenario: dict[str, Any], top: Path) -> None:
    shutil.rmtree(top, ignore_errors=True)
    (top / "ws").mkdir(parents=True)
    for name, content in scenario.get("files", {}).items():
        path = top / name if name.startswith("../") is False and name.startswith("out/") else top / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_bytes(content.encode())
        elif "link" in content:
            path.symlink_to(content["link"])
        elif "folder" in content:
            path.mkdir()
        else:
            path.write_bytes(base64.b64decode(content["base64"]))
    (top / "plan.json").write_text(json.dumps(plan(scenario, top), ensure_ascii=False))


def fits(wanted: Any, found: Any, where: str) -> list[str]:
    """What of the wanted document is not in the found one."""
    if isinstance(wanted, dict) and len(wanted) == 1 and next(iter(wanted)).startswith("$"):
        ((name, value),) = wanted.items()
        tests = {
            "$type": lambda: {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict},
            "$regex": lambda: isinstance(found, str) and re.search(value, found) is not None,
            "$contains": lambda: isinstance(found, (str, list)) and value in found,
            "$lacks": lambda: isinstance(found, (str, list)) and value not in found,
            "$length": lambda: isinstance(found, (str, list)) and len(found) == value,
            "$any": lambda: isinstance(found, list) and any(not fits(value, item, "") for item in found),
        }
        good = isinstance(found, tests[name]()[value]) if name == "$type" else tests[name]()
        return [] if good else [f"{where}: {found!r} is not {wanted}"]
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [line for key, value in wanted.items() for line in fits(value, found.get(key), f"{where}/{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [line for n, value in enumerate(wanted) for line in fits(value, found[n], f"{where}/{n}")]
    same = wanted == found and isinstance(wanted, bool) == isinstance(found, bool)
    return [] if same else [f"{where}: wanted {wanted!r}, found {found!r}"]


def outcome_of(lines: list[dict[str, Any]], step: int) -> dict[str, Any]:
    """What one step ended with: its result, its error, or its flag."""
    ends = [line for line in lines if line["step"] == step and line.get("end")]
    return ends[-1] if ends else {}


def check(scenario: dict[str, Any], lines: list[dict[str, Any]], top: Path) -> list[str]:
    wrong = ["not every item came in time"] if any("timeout" in line for line in lines) else []
    opening = scenario.get("openError")
    if opening:
        return wrong + fits({"code": opening}, outcome_of(lines, -1).get("error"), "open")
    if "error" in outcome_of(lines, -1):
        return [f"open: {outcome_of(lines, -1)['error']}"]
    read: list[str] = []
    for number, step in enumerate(scenario["steps"]):
        end, where = outcome_of(lines, number), f"step {number}"
        if "error" in step:
            wanted = step["error"] if isinstance(step["error"], dict) else {"code": step["error"]}
            wrong += fits(wanted, end.get("error"), where)
        elif step.keys() & {"call", "sync", "await"}:
            wrong += fits(step.get("expect", {}), end.get("result"), where)
            if end.get("result") is None:
                wrong.append(f"{where}: {end.get('error')}")
        elif "expect" in step:
            wrong += fits(step["expect"], end.get("flag", end.get("item")), where)
        if step.get("call") == "event.read" and "result" in end:
            read = [event["type"] for event in end["result"]["events"]]
    if "events" in scenario and read != scenario["events"]:
        wrong.append(f"events: {read}")
    if "requests" in scenario:
        kinds = [line["item"]["kind"] for line in lines if line.get("item", {}).get("type") == "request"]
        if kinds != scenario["requests"]:
            wrong.append(f"requests: {kinds}")
    for name, content in scenario.get("after", {}).items():
        path = top / "ws" / name
        wanted = None if content is None else content.encode() if isinstance(content, str) else None
        if isinstance(content, dict):
            wanted = base64.b64decode(content["base64"])
        found = path.read_bytes() if path.is_file() else None
        if found != wanted:
            wrong.append(f"after: {name} holds {found!r}")
    return wrong


def run(face: str, command: str, scenarios: list[dict[str, Any]], folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Every scenario through one face: the normalised transcript and what is wrong, by name."""
    done = {}
    for scenario in scenarios:
        # The same place for every face, so that no path has another length.
        top = folder / "run" / scenario["name"]
        prepare(scenario, top)
        told = f"{folder}/{face}/{scenario['name']}"
        try:
            ended = subprocess.run(
                [*shlex.split(command), str(top)], capture_output=True, timeout=LIMIT_S, check=False, env=ENVIRONMENT
            )
            failure = ended.stderr.decode(errors="replace") if ended.returncode else ""
        except subprocess.TimeoutExpired:
            failure = f"not done within {LIMIT_S} s"
        transcript = top / "transcript"
        if failure or not transcript.is_file():
            print(f"{face}: {scenario['name']}: {failure or 'no transcript'}")
            continue
        lines = [json.loads(line) for line in transcript.read_text().splitlines()]
        wrong = check(scenario, lines, top)
        normal = normalised(lines, str(top))
        Path(told).parent.mkdir(parents=True, exist_ok=True)
        Path(told).write_text(normal)
        done[scenario["name"]] = (normal, wrong)
    shutil.rmtree(folder / "run", ignore_errors=True)
    return done


def main(folder: Path, faces: dict[str, str]) -> int:
    only = os.environ.get("ONLY", "")
    files = sorted((HERE / "scenarios").glob("*.json"))
    scenarios = [json.loads(path.read_text()) for path in files if only in path.name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted = [scenario["name"] for scenario in scenarios]
    if wanted != [path.stem for path in files if only in path.name]:
        print("a scenario is not named like its file")
        return 1
    ran = {face: run(face, command, scenarios, folder) for face, command in faces.items()}
    bad, (first, *others) = 0, ran
    for face, done in ran.items():
        for name in wanted:
            if name not in done:
                bad += 1
                print(f"{face}: {name} did not run")
            for line in done.get(name, ("", []))[1]:
                bad += 1
                print(f"{face}: {name}: {line}")
    for face in others:
        for name in ran[first].keys() & ran[face].keys():
            one, other = ran[first][name][0], ran[face][name][0]
            if one != other:
                bad += 1
                apart = next((pair for pair in zip(one.splitlines(), other.splitlines()) if pair[0] != pair[1]), None)
                print(f"{name}: {first} and {face} differ: {apart or 'one is longer'}")
    for face, done in ran.items():
        print(f"{face}: {len(done)} of {len(wanted)} scenarios run")
    return 1 if bad else 0


if __name__ == "__main__":
    commands = dict(argument.split("=", 1) for argument in sys.argv[2:])
    sys.exit(main(Path(sys.argv[1]).resolve(), commands))
