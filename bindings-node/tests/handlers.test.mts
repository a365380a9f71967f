import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { type Decision, type HandlerContext, allow, deny } from "zuno";

import { bench, denialOf, later } from "./support.mjs";

const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

const broken = new Error("the dialog is broken");
const misbehaviours: { [how: string]: () => Decision | Promise<Decision> } = {
  throws: () => {
    throw broken;
  },
  rejects: () => Promise.reject(broken),
  "returns nothing": () => undefined as unknown as Decision,
  "returns a boolean": () => true as unknown as Decision,
  "returns another reply": () => ({ reply: "perhaps" }) as unknown as Decision,
  "returns a promise of a function": () => Promise.resolve((() => {}) as unknown as Decision),
  "throws nothing": () => {
    throw undefined;
  },
  "throws something that cannot be shown": () => {
    throw Object.create(null);
  },
};

// case: 98
for (const [how, approve] of Object.entries(misbehaviours)) {
  test(`approve ${how}: the call is denied, the process lives`, async (t) => {
    const { session, workspace } = await bench(t, { approve });
    const outcome = await session.write("a.txt", "x");
    const denial = denialOf(outcome);
    assert.equal(denial.origin, "no_handler");
    assert.match(denial.reason, /approve/);
    assert.equal(existsSync(path.join(workspace, "a.txt")), false);
    if (how === "throws" || how === "rejects") {
      assert.equal(outcome.cause, broken);
      assert.match(denial.reason, /the dialog is broken/);
    }
    assert.equal((await session.glob("*")).outcome, "ok");
    assert.deepEqual(unhandled, []);
  });
}

// case: 98
test("approve never answers: an interrupt settles the call and tells the handler", async (t) => {
  const asked = later<HandlerContext>();
  const { session } = await bench(t, {
    approve: (_, context) => {
      asked.resolve(context);
      return new Promise(() => {});
    },
  });
  const running = session.write("a.txt", "x");
  const { signal } = await asked.promise;
  assert.equal(signal.aborted, false);
  assert.equal(await session.interrupt(), true);
  const outcome = await running;
  assert.ok(outcome.outcome === "error" && outcome.error.kind === "Cancelled", outcome.output);
  assert.equal(outcome.error.started, false);
  await new Promise((resolve) => (signal.aborted ? resolve(0) : signal.addEventListener("abort", resolve)));
});

// case: 98
test("approve never answers: closing settles the call", async (t) => {
  const asked = later<void>();
  const { session, runtime } = await bench(t, {
    approve: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const running = session.write("a.txt", "x").then(
    ({ outcome }) => outcome,
    (error: unknown) => error,
  );
  await asked.promise;
  await runtime.close({ deadlineMs: 2000 });
  const end = await running;
  assert.ok(end === "error" || (end instanceof Error && "code" in end && end.code === "closed.object"), String(end));
});

// case: 98
test("a handler may call back into the library", async (t) => {
  const { session, runtime } = await bench(t, {
    approve: async (request) => {
      assert.equal((await runtime.sessions()).length, 1);
      const [pending] = await runtime.permissions.pending(session.id);
      assert.equal(pending?.id, request.id);
      return allow.once();
    },
  });
  assert.equal((await session.write("a.txt", "x")).outcome, "ok");
});

test("a refusal carries its reason; always is asked once", async (t) => {
  let asked = 0;
  const { session, runtime } = await bench(t, {
    approve: (request) => {
      asked += 1;
      assert.ok(request.summary.includes("write"));
      assert.ok(request.diff?.includes("+"));
      return request.choices.includes("always") && asked > 1 ? allow.always() : deny("Not on a Friday.");
    },
  });
  const refused = denialOf(await session.write("a.txt", "x\n"));
  assert.equal(refused.origin, "user");
  assert.match(refused.reason, /Not on a Friday/);
  assert.equal((await session.write("a.txt", "x\n")).outcome, "ok");
  assert.equal((await session.write("b.txt", "x\n")).outcome, "ok");
  assert.equal(asked, 2);
  assert.equal((await runtime.permissions.grants(session.id)).length, 1);
});

// case: 89
test("an approval answered twice counts once", async (t) => {
  const asked = later<string>();
  const answer = later<Decision>();
  const { session, runtime } = await bench(t, {
    approve: (request) => {
      asked.resolve(request.id);
      return answer.promise;
    },
  });
  const running = session.write("a.txt", "x");
  const id = await asked.promise;
  const replies = await Promise.allSettled([
    runtime.permissions.reply(id, allow.once()),
    runtime.permissions.reply(id, deny()),
  ]);
  assert.deepEqual(replies.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  answer.resolve(allow.once());
  const first = replies[0]?.status === "fulfilled";
  assert.equal((await running).outcome, first ? "ok" : "blocked");
  await assert.rejects(runtime.permissions.reply(id, allow.once()), { code: "closed.object" });
});

// case: 91
test("one list shows what waits, also to who asks late", async (t) => {
  const asked = later<void>();
  const answer = later<Decision>();
  const { session, runtime } = await bench(t, {
    approve: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const running = session.write("a.txt", "x");
  await asked.promise;
  const [waiting] = await runtime.waiting();
  assert.equal(waiting?.kind, "permission");
  assert.equal(waiting?.sessionId, session.id);
  assert.ok((waiting?.since ?? 0) > 0);
  answer.resolve(allow.once());
  await running;
  assert.deepEqual(await runtime.waiting(), []);
});

// case: 98
test("a host tool that throws, or answers something else, ends its call and nothing more", async (t) => {
  const { session, runtime } = await bench(t);
  const spec = { description: "Breaks.", inputSchema: { type: "object" }, effect: "ReadOnly", replay: "Safe" } as const;
  runtime.tool({ ...spec, name: "throws" }, () => {
    throw broken;
  });
  runtime.tool({ ...spec, name: "number" }, () => 7 as unknown as string);
  runtime.tool({ ...spec, name: "circular" }, () => {
    const metadata: { [key: string]: unknown } = {};
    metadata["self"] = metadata;
    return { output: "x", metadata };
  });
  runtime.tool({ ...spec, name: "bigint" }, () => ({ output: "x", metadata: { big: 1n } }));
  for (const name of ["throws", "number", "circular", "bigint"]) {
    const outcome = await session.call(name, {});
    assert.equal(outcome.outcome, "error", `${name}: ${outcome.output}`);
    assert.match(outcome.output, new RegExp(name === "throws" ? "the dialog is broken" : `${name}|JSON`));
  }
  assert.deepEqual(unhandled, []);
});

test("a hook that throws blocks its call and is named", async (t) => {
  const { session, runtime } = await bench(t);
  runtime.beforeCall(() => {
    throw broken;
  });
  const denial = denialOf(await session.glob("*"));
  assert.equal(denial.origin, "hook");
  assert.deepEqual(unhandled, []);
});

test("a host tool is told when its call is interrupted", async (t) => {
  const { session, runtime } = await bench(t);
  const called = later<AbortSignal>();
  const spec = {
    name: "slow",
    description: "Never ends.",
    inputSchema: { type: "object" },
    effect: "ReadOnly",
    replay: "Safe",
  } as const;
  runtime.tool(spec, (_, { signal }) => {
    called.resolve(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const running = session.call("slow", {});
  const signal = await called.promise;
  await session.interrupt();
  const outcome = await running;
  assert.notEqual(outcome.outcome, "ok");
  await new Promise((resolve) => (signal.aborted ? resolve(0) : signal.addEventListener("abort", resolve)));
  assert.deepEqual(unhandled, []);
});
