import assert from "node:assert/strict";
import { test } from "node:test";

import { type Event, allow } from "zuno";

import { bench } from "./support.mjs";

const COUNT = {
  name: "count",
  description: "Counts.",
  inputSchema: { type: "object" },
  effect: "SideEffecting",
} as const;

test("a session's events, typed, in order, from the moment of asking", async (t) => {
  const { session } = await bench(t);
  const events = session.events();
  await session.write("a.txt", "x\n");
  const types: string[] = [];
  let last = 0;
  for await (const event of events) {
    types.push(event.type);
    if (event.durable) {
      assert.equal(event.seq, last === 0 ? event.seq : last + 1);
      last = event.seq;
    }
    if (event.type === "permission.asked") assert.equal(event.data.tool, "write");
    if (event.type === "tool.dispatch.started") assert.equal(event.data.effect, "SideEffecting");
    if (event.type === "tool.result.appended") break;
  }
  const expected = [
    "tool.call.started",
    "permission.asked",
    "permission.settled",
    "tool.dispatch.started",
    "tool.dispatch.completed",
    "tool.result.appended",
  ];
  assert.deepEqual(
    types.filter((type) => expected.includes(type)),
    expected,
  );
  assert.equal(events.closed, true);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test("stored events first, then new ones, without gap or repetition", async (t) => {
  const { session } = await bench(t);
  await session.glob("*");
  const stored = await session.history();
  const events = session.events({ after: 0, live: false });
  await session.glob("*");
  const all = await session.history();
  assert.ok(all.length > stored.length);
  const seen: Event[] = [];
  while (seen.length < all.length) {
    const { value } = await events.next();
    if (value !== undefined) seen.push(value);
  }
  assert.deepEqual(
    seen.map(({ id }) => id),
    all.map(({ id }) => id),
  );
  events.close();
});

test("only the types that were asked for", async (t) => {
  const { session } = await bench(t);
  const events = session.events({ types: ["tool.result.appended"] });
  await session.glob("*");
  const { value } = await events.next();
  assert.equal(value?.type, "tool.result.appended");
});

test("several waits are served in order; closing ends them", async (t) => {
  const { session, runtime } = await bench(t);
  const events = session.events({ types: ["tool.call.started", "tool.result.appended"] });
  const waits = [events.next(), events.next(), events.next()];
  await session.glob("*");
  assert.equal((await waits[0])?.value?.type, "tool.call.started");
  assert.equal((await waits[1])?.value?.type, "tool.result.appended");
  await runtime.close();
  assert.deepEqual(await waits[2], { done: true, value: undefined });
});

test("a signal ends a stream with its reason", async (t) => {
  const { session } = await bench(t);
  const controller = new AbortController();
  const wait = session.events({ signal: controller.signal }).next();
  controller.abort("enough");
  await assert.rejects(wait, (error) => error === "enough");
  await assert.rejects(session.events({ signal: controller.signal }).next(), (error) => error === "enough");
});

// case: 95
test("nobody reads, two thousand calls with an approval each: nothing stops, nothing durable is lost", async (t) => {
  let asked = 0;
  const { session, runtime } = await bench(t, {
    approve: () => {
      asked += 1;
      return allow.once();
    },
  });
  let ran = 0;
  runtime.tool(COUNT, () => String(++ran));
  const unread = session.events();
  const calls = Array.from({ length: 50 }, () => ({ name: "count", arguments: {} }));
  for (let message = 0; message < 40; message += 1) {
    const outcomes = await session.dispatch(calls);
    assert.ok(outcomes.every(({ outcome }) => outcome === "ok"));
  }
  assert.equal(ran, 2000);
  assert.equal(asked, 2000);

  let next = 0;
  let lagged = 0;
  const seen = new Set<number>();
  const last = (await session.history({ after: 0, limit: 1 }))[0]?.seq ?? 0;
  const { last: end } = await runtime.call("event.read", { sessionId: session.id, after: 0, limit: 1 });
  assert.ok(end > 10_000 && last > 0);
  while (next < end) {
    const { value } = await unread.next();
    assert.ok(value !== undefined);
    if (value.type === "stream.lagged") lagged += 1;
    if (!value.durable) continue;
    assert.equal(seen.has(value.seq), false, `event ${value.seq} twice`);
    assert.ok(next === 0 || value.seq === next + 1, `gap after ${next}`);
    seen.add(value.seq);
    next = value.seq;
  }
  assert.ok(lagged <= 1, "only live events are announced as lost");
});
