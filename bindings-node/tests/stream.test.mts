import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";

import type { Event } from "zuno";

import { PACKAGE } from "./support.mjs";

const { EventBuffer } = createRequire(import.meta.url)(
  path.join(PACKAGE, "dist/stream.js"),
) as typeof import("../dist/stream.js");

function event(seq: number, durable = true): Event {
  const envelope = {
    id: `evt_${seq}`,
    sessionId: "ses_1",
    seq,
    durable,
    time: 0,
    turnId: null,
    cycleId: null,
    rootSessionId: null,
  };
  return durable
    ? { ...envelope, type: "turn.paused", data: { assistantMessageId: "", steps: 0, reason: "" } }
    : { ...envelope, type: "tool.progress", data: { callId: "", message: "" } };
}

// case: 95
test("a buffer that is full by number ends its subscription and goes on where it stood", () => {
  const buffer = new EventBuffer("ses_1", {});
  let taken = 0;
  while (buffer.push(event(taken + 1), 10)) taken += 1;
  assert.equal(taken, 1024);
  assert.equal(buffer.needsSubscription, false);
  while (buffer.pop() !== undefined);
  assert.equal(buffer.needsSubscription, true);
  assert.equal(buffer.resume(), undefined);
  assert.deepEqual(buffer.parameters(), { sessionId: "ses_1", after: 1024, live: true });
});

// case: 95
test("a buffer that is full by size takes one event, however large, and no more", () => {
  const buffer = new EventBuffer("ses_1", { live: false, types: ["turn.paused"] });
  assert.equal(buffer.push(event(7), 20 << 20), true);
  assert.equal(buffer.push(event(8), 1), false);
  assert.equal(buffer.pop()?.seq, 7);
  buffer.resume();
  assert.deepEqual(buffer.parameters(), { sessionId: "ses_1", after: 7, live: false, types: ["turn.paused"] });
});

test("lost live events are announced where they were", () => {
  const buffer = new EventBuffer("ses_1", { after: 3 });
  for (let seq = 4; buffer.push(event(seq), 10); seq += 1) if (seq === 1027) break;
  assert.equal(buffer.push(event(1027, false), 10), false);
  while (buffer.pop() !== undefined);
  const notice = buffer.resume();
  assert.ok(notice?.type === "stream.lagged");
  assert.deepEqual(notice.data, { dropped: 1, resumeAfter: 1027 });
});
