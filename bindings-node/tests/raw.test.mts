import assert from "node:assert/strict";
import { test } from "node:test";

import { type Item, open } from "zuno";

import { CONFIG, folder } from "./support.mjs";

test("the protocol itself: start, next, respond, fail, cancel", async (t) => {
  const runtime = await open({ store: ":memory:", ports: ["approval"], config: CONFIG });
  t.after(() => runtime.close());
  const { id: sessionId } = await runtime.call("session.create", { directory: folder(t) });
  const write = (filePath: string): number =>
    runtime.start("session.dispatch", { sessionId, calls: [{ name: "write", arguments: { filePath, content: "x" } }] });

  const first = write("a.txt");
  const request = await runtime.next();
  assert.ok(request?.type === "request" && request.kind === "approval");
  assert.equal(request.payload.tool, "write");
  assert.equal(runtime.respond(request.id, { reply: "once" }), true);
  assert.equal(runtime.respond(request.id, { reply: "once" }), false);
  const done = await runtime.next();
  assert.ok(done?.type === "op" && done.id === first && done.error === null);

  write("b.txt");
  const second = await runtime.next();
  assert.ok(second?.type === "request");
  assert.equal(runtime.fail(second.id, "host.dropped", "Nobody is here."), true);
  assert.equal((await runtime.next())?.type, "op");

  const third = write("c.txt");
  assert.equal((await runtime.next())?.type, "request");
  assert.equal(runtime.cancel(third), true);
  const rest: Item[] = [];
  for (let item = await runtime.next(); item !== null; item = item.type === "op" ? null : await runtime.next())
    rest.push(item);
  assert.ok(rest.some((item) => item.type === "cancelled"));
  assert.ok(rest.some((item) => item.type === "op" && item.id === third));
  assert.equal(runtime.cancel(third), false);
});

test("events of a raw subscription come out of next", async (t) => {
  const runtime = await open({ store: ":memory:", config: CONFIG });
  t.after(() => runtime.close());
  const { id: sessionId } = await runtime.call("session.create", { directory: folder(t) });
  const { subscriptionId } = await runtime.call("event.subscribe", { sessionId, after: 0 });
  const item = await runtime.next();
  assert.ok(item?.type === "event" && item.subscriptionId === subscriptionId);
  assert.equal(item.event.type, "session.created");
});

test("next: in time, out of time, at the end", async (t) => {
  const runtime = await open({ store: ":memory:" });
  t.after(() => runtime.close());
  assert.equal(await runtime.next(0), null);
  assert.equal(await runtime.next(1), null);
  const waiting = [runtime.next(), runtime.next()];
  await runtime.close();
  assert.deepEqual(await waiting[0], { type: "closed" });
  assert.equal(await waiting[1], null);
  assert.equal(await runtime.next(), null);
});

test("an unknown method or field is refused with the nearest name", async (t) => {
  const runtime = await open({ store: ":memory:" });
  t.after(() => runtime.close());
  await assert.rejects(runtime.call("session.lst", {}), { code: "arguments.unknown_method", message: /session\.list/ });
  const params = { directry: "." } as unknown as { directory: string };
  await assert.rejects(runtime.call("session.create", params), { code: "arguments.unknown_field" });
  const op = runtime.start("session.lst", {});
  const item = await runtime.next();
  assert.ok(item?.type === "op" && item.id === op && item.error?.code === "arguments.unknown_method");
});

test("a request without a handler is answered, not left alone", async (t) => {
  const runtime = await open({ store: ":memory:", config: CONFIG });
  t.after(() => runtime.close());
  await runtime.call("tool.register", {
    name: "orphan",
    description: "Has no handler.",
    inputSchema: { type: "object" },
    effect: "ReadOnly",
  });
  const session = await runtime.session({ directory: folder(t) });
  const outcome = await session.call("orphan", {});
  assert.notEqual(outcome.outcome, "ok");
});
