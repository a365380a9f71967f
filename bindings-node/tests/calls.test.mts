import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { type Outcome, type ToolOutput, ToolFailure, ZunoError, block, call, open, rewrite } from "zuno";

import { bench, denialOf, folder } from "./support.mjs";

// case: 22
test("what is written is what stands on disk, byte for byte", async (t) => {
  const { session, workspace } = await bench(t);
  const source = 'char *s = "a\\n\\0\\\'\\u2260\\\\";\r\n\ttab \u{1f600} \u2028 \u0001 end without newline';
  const written = await session.write("s.c", source);
  assert.equal(written.outcome, "ok", written.output);
  assert.deepEqual(readFileSync(path.join(workspace, "s.c")), Buffer.from(source, "utf8"));
  const read = await session.read("s.c", { accept_large_output: true });
  assert.match(read.output, /char \*s = "a\\n\\0\\'\\u2260\\\\";/);
});

test("half a surrogate pair is refused, not replaced", async (t) => {
  const { session } = await bench(t);
  await assert.rejects(
    session.write("x", "a\ud800b"),
    (error) => error instanceof ZunoError && error.code === "arguments.json",
  );
});

test("outcomes narrow by their tag", async (t) => {
  const { session, runtime, workspace } = await bench(t);
  writeFileSync(path.join(workspace, "a.txt"), "one\n");
  runtime.tool(
    { name: "fails", description: "Fails.", inputSchema: { type: "object" }, effect: "ReadOnly", replay: "Safe" },
    () => {
      throw new ToolFailure("It failed.", { code: "it_failed" });
    },
  );
  const [ok, blocked, failed] = await session.dispatch([
    call("read", { filePath: "a.txt" }),
    { name: "read", arguments: { filepath: "a.txt" } },
    call("fails", {}),
  ]);
  assert.ok(ok?.outcome === "ok");
  const nothing: null = ok.error;
  assert.equal(nothing, null);
  assert.ok(blocked?.outcome === "blocked" && blocked.blockKind === "invalid_arguments");
  assert.equal(blocked.error.suggestion, "filePath");
  assert.ok(failed?.outcome === "error");
  assert.equal(failed.error.code, "it_failed");
  assert.equal(failed.receipt, null);
  assert.deepEqual(failed.writtenPaths, []);
});

test("an outcome as JSON is the document of the library", async (t) => {
  const { session, runtime } = await bench(t);
  const outcome = await session.write("a.txt", "x\n");
  assert.ok(outcome.diff?.includes("+x"));
  assert.equal(outcome.writtenPaths.length, 1);
  const { messages } = await runtime.call("session.messages", { sessionId: session.id });
  assert.deepEqual(JSON.parse(JSON.stringify(outcome)), messages[0]?.parts[0]);
});

test("the same message twice runs nothing twice", async (t) => {
  const { session, runtime } = await bench(t);
  let runs = 0;
  runtime.tool({ name: "count", description: "Counts.", inputSchema: { type: "object" } }, () => String(++runs));
  const messageId = "msg_00000000000000000000000001";
  const first = await session.call("count", {}, { messageId });
  const again = await session.call("count", {}, { messageId });
  assert.equal(runs, 1);
  assert.equal(first.output, "1");
  assert.deepEqual(JSON.stringify(again), JSON.stringify(first));
  await assert.rejects(session.call("count", { other: 1 }, { messageId }), {
    name: "ZunoError",
    code: "conflict.call_changed",
  });
});

test("host tools: arguments, context, typed failures, several forms of an answer", async (t) => {
  const { session, runtime } = await bench(t);
  const schema = {
    type: "object",
    properties: { id: { type: "string" } },
    required: ["id"],
    additionalProperties: false,
  };
  const answers: { [id: string]: () => string | ToolOutput | undefined } = {
    text: () => "done",
    output: () => ({ output: "long", title: "short", metadata: { ticket: 7 } }),
    nothing: () => undefined,
    failure: () => {
      throw new ToolFailure("No such ticket.", { code: "no_ticket" });
    },
  };
  const registration = runtime.tool<{ id: string }>(
    { name: "ticket", description: "Changes a ticket.", inputSchema: schema, effect: "ReadOnly", replay: "Safe" },
    async ({ id }, context) => {
      assert.equal(context.sessionId, session.id);
      assert.equal(context.tool, "ticket");
      assert.equal(context.signal.aborted, false);
      return answers[id]?.();
    },
  );
  const outcomes: Outcome[] = [];
  for (const id of Object.keys(answers)) outcomes.push(await session.call("ticket", { id }));
  assert.deepEqual(outcomes.map(({ output }) => output).slice(0, 3), ["done", "long", ""]);
  assert.equal(outcomes[1]?.title, "short");
  assert.equal(outcomes[1]?.metadata["ticket"], 7);
  assert.ok(outcomes[3]?.outcome === "error" && outcomes[3].error.code === "no_ticket", outcomes[3]?.output);
  const wrong = await session.call("ticket", { di: "x" });
  assert.ok(wrong.outcome === "blocked" && wrong.blockKind === "invalid_arguments");
  assert.equal(registration.remove(), true);
  assert.equal(registration.remove(), false);
  const gone = await session.call("ticket", { id: "text" });
  assert.ok(gone.outcome === "blocked" && gone.blockKind === "unavailable", gone.output);
});

test("a tool that is not acceptable is refused at once, and its handler is not kept", async (t) => {
  const { runtime } = await bench(t);
  const spec = { name: "1bad", description: "x", inputSchema: { type: "object" } };
  assert.throws(() => runtime.tool(spec, () => ""), { name: "ZunoError", code: "arguments.bad_tool" });
  const circular: { [key: string]: unknown } = { type: "object" };
  circular["self"] = circular;
  assert.throws(() => runtime.tool({ ...spec, inputSchema: circular }, () => ""), {
    name: "ZunoError",
    code: "arguments.json",
  });
});

test("hooks block, rewrite and add facts", async (t) => {
  const { session, runtime, workspace } = await bench(t);
  writeFileSync(path.join(workspace, "b.txt"), "bee\n");
  const before = runtime.beforeCall(
    ({ arguments: args }) => {
      if (args["filePath"] === "secret") return block("Not that one.");
      return args["filePath"] === "a.txt" ? rewrite({ filePath: "b.txt" }) : undefined;
    },
    { tools: ["read"] },
  );
  runtime.afterCall((done) => ({ seen: done.outcome }));
  const rewritten = await session.read("a.txt");
  assert.match(rewritten.output, /bee/);
  assert.equal(rewritten.metadata["seen"], "ok");
  const blocked = denialOf(await session.read("secret"));
  assert.equal(blocked.origin, "hook");
  assert.match(blocked.reason, /Not that one/);
  assert.equal(before.remove(), true);
  const free = await session.read("a.txt");
  assert.ok(free.outcome === "blocked" && free.blockKind === "invalid_arguments", free.output);
});

test("tools in the forms of providers", async (t) => {
  const { session } = await bench(t);
  const [native] = await session.tools();
  const [openai] = await session.tools({ format: "openai" });
  const [anthropic] = await session.tools({ format: "anthropic" });
  const [mcp] = await session.tools({ format: "mcp" });
  assert.equal(openai?.function.name, native?.name);
  assert.deepEqual(anthropic?.input_schema, native?.inputSchema);
  assert.equal(typeof mcp?.annotations.readOnlyHint, "boolean");
});

test("errors of operations are typed and say what to do", async (t) => {
  const { runtime, session } = await bench(t);
  await assert.rejects(runtime.session({ id: "ses_00000000000000000000000000" }), {
    name: "ZunoError",
    code: "not_found.object",
  });
  await assert.rejects(
    runtime.session({ directory: "/no/such/folder" }),
    (error) => error instanceof ZunoError && error.message.length > 20,
  );
  await assert.rejects(session.reconcile("call_9", "happened", "looked"), ZunoError);
  assert.deepEqual(await session.unsettled(), []);
  assert.equal(await session.interrupt(), false);
  await runtime.close();
  await assert.rejects(session.read("x"), { code: "closed.object" });
  await runtime.close();
  assert.equal(runtime.closed, true);
  assert.throws(() => session.events(), { code: "closed.object" });
  assert.equal(runtime.cancel(1), false);
  assert.equal(runtime.fail("req_1", "host.failed", ""), false);
});

test("what cannot be opened says why", async (t) => {
  const where = folder(t);
  await assert.rejects(open({ store: path.join(where, "none/state.db") }), {
    name: "ZunoError",
    code: "store.missing_directory",
  });
  writeFileSync(path.join(where, "text.db"), "this is no database, whatever its name says ".repeat(200));
  await assert.rejects(open({ store: path.join(where, "text.db") }), { code: /^store\.(not_a_database|damaged)$/ });
  await assert.rejects(open({ config: { sandbx: {} } }), { code: "arguments.config" });
  await assert.rejects(open({ stor: "x" } as object), { code: "arguments.unknown_field", message: /stor/ });
  await assert.rejects(open({ approve: true } as object), { code: "arguments.invalid", message: /approve/ });
});

test("a session is found again by its id", async (t) => {
  const { runtime, session } = await bench(t);
  assert.equal((await session.close()).state, "closed");
  const again = await runtime.session({ id: session.id });
  assert.equal(again.record.state, "active");
  assert.deepEqual(
    (await runtime.sessions()).map(({ id }) => id),
    [session.id],
  );
  assert.equal(await again.delete(), true);
  assert.deepEqual(await runtime.sessions(), []);
});
