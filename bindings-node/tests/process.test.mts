import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { open } from "zuno";

import { folder, run, start } from "./support.mjs";

test("a process with idle sessions, a subscription and a wait ends by itself", async () => {
  const end = await run("idle.mjs", ["idle"]);
  assert.deepEqual([end.code, end.stdout], [0, "end of the program\n"], end.stderr);
});

test("a process ends by itself after close", async () => {
  const end = await run("idle.mjs", ["close"]);
  assert.deepEqual([end.code, end.stdout], [0, "end of the program\n"], end.stderr);
});

test("a call in flight keeps the process until it is settled", async () => {
  const end = await run("idle.mjs", ["busy"]);
  assert.deepEqual([end.code, end.stdout], [0, "end of the program\nsettled late\n"], end.stderr);
});

test("so does an operation of the raw protocol", async () => {
  const end = await run("idle.mjs", ["raw"]);
  assert.deepEqual([end.code, end.stdout], [0, "end of the program\nitem op\n"], end.stderr);
});

test("waiting for an event does not", async () => {
  const end = await run("idle.mjs", ["waiting"]);
  assert.equal(end.code, 13, end.stderr);
});

test("workers have runtimes of their own and may be terminated at any time", async () => {
  const mark = `5${process.pid}.${Date.now() % 100000}`;
  const end = await run("workers.mjs", [mark]);
  assert.equal(end.code, 0, end.stderr);
  if (existsSync("/proc/self/cmdline")) assert.deepEqual(marked(mark), []);
  assert.match(end.stdout, /main lives\n$/);
  assert.deepEqual(end.stdout.match(/^ends ok 0$/gm)?.length, 2, end.stdout);
});

test("two copies in one process: two stores work, one store is refused", async (t) => {
  const end = await run("twice.cjs", [folder(t)]);
  assert.equal(end.code, 0, end.stderr);
  assert.match(end.stdout, /^refused store\.(second_copy|locked)$/m);
  assert.match(end.stdout, /^reloaded true 0$/m);
});

test("a runtime that is given up open is warned about, one in use is not", async () => {
  const end = await run("collected.mjs", [], ["--expose-gc"]);
  assert.match(end.stdout, /^warnings 1 /m, end.stderr);
  assert.match(end.stderr, /ZUNO_UNCLOSED.*await using/);
});

/** Processes whose command line holds the mark. */
function marked(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words[0]?.endsWith("sleep") === true && words[1] === mark;
    } catch {
      return false;
    }
  });
}

async function until(what: string, holds: () => boolean, limitMs: number): Promise<void> {
  const end = Date.now() + limitMs;
  while (!holds()) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// case: 94
for (const [how, code] of Object.entries({ kill: null, exit: 3, throw: 1, reject: 1, close: 0 })) {
  test(`commands end with their host: ${how}`, { skip: !existsSync("/proc/self/cmdline") }, async (t) => {
    const where = folder(t);
    const mark = `5${process.pid}.${how.length}${Date.now() % 100000}`;
    const host = start("commands.mjs", [how, path.join(where, "state.db"), where, mark]);
    await host.line("running");
    await until("the command runs", () => marked(mark).length === 3, 20_000);
    host.child.stdin?.end();
    if (how === "kill") host.child.kill("SIGKILL");
    const end = await host.ended;
    assert.equal(end.code, code, end.stderr);
    await until(`nothing is left: ${marked(mark).join()}`, () => marked(mark).length === 0, 5000);
  });
}

// case: 94
test(
  "what a killed host left open is uncertain, and is looked at once",
  { skip: !existsSync("/proc/self/cmdline") },
  async (t) => {
    const where = folder(t);
    const store = path.join(where, "state.db");
    const mark = `5${process.pid}.9${Date.now() % 100000}`;
    const host = start("commands.mjs", ["kill", store, where, mark]);
    const id = await host.line("running");
    await until("the command runs", () => marked(mark).length === 3, 20_000);
    host.child.kill("SIGKILL");
    await host.ended;
    await until("nothing is left", () => marked(mark).length === 0, 5000);

    const runtime = await open({ store });
    t.after(() => runtime.close());
    const session = await runtime.session({ id });
    const [part, ...others] = await session.unsettled();
    assert.ok(part !== undefined && others.length === 0);
    assert.deepEqual([part.tool, part.outcome], ["shell", "uncertain"]);
    const looked = await session.reconcile(part.callId, "did_not_happen", "The processes are gone.");
    assert.ok((looked.uncertain?.reconciledAt ?? 0) > 0);
    assert.deepEqual(await session.unsettled(), []);
    await assert.rejects(session.reconcile(part.callId, "happened", "again"), { code: "conflict.already_reconciled" });
  },
);
