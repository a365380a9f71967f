"""Transcripts without what differs from run to run: ids, times, durations, the place of the workspace."""

from __future__ import annotations

import json
import re
from typing import Any

# 26 characters of lower-case Crockford base32, alone or behind a prefix.
IDENTITY = re.compile(r"(?<![0-9a-z])([0-9a-hjkmnp-tv-z]{26})(?![0-9a-z])")
TIMES = range(1_500_000_000_000, 20_000_000_000_000)
MEASURED = {"durationMs", "elapsedMs", "wallMs", "pid"}


def streams(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results, requests and ends in their order, then each subscription's events, then what was withdrawn: between
    those the queue promises no order."""

    def rank(line: dict[str, Any]) -> tuple[int, int, str]:
        item = line.get("item") or {}
        if item.get("type") == "event":
            return (1, item["subscriptionId"], "")
        if item.get("type") == "cancelled":
            return (2, 0, item["requestId"])
        return (0, 0, "")

    # Which step happened to see an event or a withdrawal is no promise either.
    return [line if rank(line)[0] == 0 else {**line, "step": None, "end": None} for line in sorted(lines, key=rank)]


def normalised(lines: list[dict[str, Any]], top: str) -> str:
    known: dict[str, str] = {}

    def text(value: str) -> str:
        value = value.replace(top, "$TOP")
        return IDENTITY.sub(lambda found: known.setdefault(found[1], f"<{len(known) + 1}>"), value)

    def plain(value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {text(name): plain(item, name) for name, item in value.items()}
        if isinstance(value, bool) or value is None:
            return value
        # A fraction is never a time; asking a range for one would count its way through.
        return 0 if key in MEASURED or (isinstance(value, int) and value in TIMES) else value

    return "".join(json.dumps(plain(line), ensure_ascii=False) + "\n" for line in streams(lines))
