import assert from "node:assert/strict";
import { test } from "node:test";

import { bench } from "./support.mjs";

/** Ticks of a 10 ms interval during some work. */
async function ticksDuring(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  const interval = setInterval(() => (ticks += 1), 10);
  await work();
  clearInterval(interval);
  return ticks;
}

// case: 97
test("the event loop goes on during a command", async (t) => {
  const { session } = await bench(t);
  let exit: number | null | undefined;
  const during = await ticksDuring(async () => {
    const outcome = await session.shell("sleep 5");
    assert.equal(outcome.outcome, "ok", outcome.output);
    exit = outcome.receipt?.exitCode;
  });
  assert.equal(exit, 0);
  const without = await ticksDuring(() => new Promise((resolve) => setTimeout(resolve, 5000)));
  assert.ok(during > without / 2, `${during} ticks during the command, ${without} without it`);
});

// case: 97
test("and during eight calls at once", async (t) => {
  const { session } = await bench(t);
  const calls = Array.from({ length: 8 }, () => ({ name: "glob", arguments: { pattern: "**/*" } }));
  let outcomes = 0;
  const during = await ticksDuring(async () => {
    for (let turn = 0; turn < 10; turn += 1) outcomes += (await session.dispatch(calls)).length;
  });
  assert.equal(outcomes, 80);
  assert.ok(during > 0);
});
