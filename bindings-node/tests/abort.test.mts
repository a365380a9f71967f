import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { bench, later } from "./support.mjs";

const SLOW = {
  name: "slow",
  description: "Ends when told.",
  inputSchema: { type: "object" },
  effect: "ReadOnly",
  replay: "Safe",
} as const;

test("a signal that has fired starts nothing", async (t) => {
  const { session } = await bench(t);
  const reason = new Error("changed my mind");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(session.write("a.txt", "x", { signal }), (error) => error === reason);
  assert.deepEqual(await session.messages(), []);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("a signal that fires cancels the call and gives its reason", async (t) => {
  const { session, runtime } = await bench(t);
  const called = later<AbortSignal>();
  runtime.tool(SLOW, (_, { signal }) => {
    called.resolve(signal);
    return new Promise(() => {});
  });
  const controller = new AbortController();
  const running = session.call("slow", {}, { signal: controller.signal });
  const inside = await called.promise;
  controller.abort("enough");
  await assert.rejects(running, (error) => error === "enough");
  await new Promise((resolve) => (inside.aborted ? resolve(0) : inside.addEventListener("abort", resolve)));
  assert.equal(getEventListeners(controller.signal, "abort").length, 0);
});

test("the default reason is an AbortError", async (t) => {
  const { session, runtime } = await bench(t);
  const controller = new AbortController();
  runtime.tool(SLOW, () => {
    controller.abort();
    return new Promise(() => {});
  });
  await assert.rejects(session.call("slow", {}, { signal: controller.signal }), { name: "AbortError" });
});

test("a settled call leaves no listener, and the user's own handler alone", async (t) => {
  const { session } = await bench(t);
  const controller = new AbortController();
  let fired = 0;
  controller.signal.onabort = () => (fired += 1);
  for (let turn = 0; turn < 20; turn += 1) await session.glob("*", { signal: controller.signal });
  assert.equal(getEventListeners(controller.signal, "abort").length, 1);
  controller.abort();
  assert.equal(fired, 1);
});

test("the raw protocol takes signals too", async (t) => {
  const { runtime } = await bench(t);
  await assert.rejects(runtime.call("session.list", {}, { signal: AbortSignal.abort() }), { name: "AbortError" });
});
