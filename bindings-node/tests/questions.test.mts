import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { type Question, allow, open } from "zuno";

import { CONFIG, bench, folder } from "./support.mjs";

const TWO = [
  { header: "Name", question: "What is it called?", options: [{ label: "zuno", description: "As it is." }] },
  {
    header: "Notes",
    question: "Write notes?",
    options: [
      { label: "Yes", description: "" },
      { label: "No", description: "" },
    ],
  },
];

test("a question of a call is answered item by item", async (t) => {
  const { session, runtime } = await bench(t);
  const asked = await session.call("question_async", { questions: TWO });
  assert.equal(asked.outcome, "ok", asked.output);
  const [question] = await session.questions.pending();
  assert.ok(question !== undefined);
  assert.equal(question.id, asked.metadata.requestId);
  assert.deepEqual(
    question.items.map(({ id }) => id),
    ["q1", "q2"],
  );
  assert.ok((await runtime.waiting()).some(({ kind, id }) => kind === "question" && id === question.id));

  const first = await question.answer({ q1: "zuno" });
  assert.equal(first.duplicate, false);
  assert.equal(question.state, "pending");
  await question.answer({ q2: ["Yes"] });
  assert.equal(question.state, "answered");
  assert.deepEqual(question.view.answers, { q1: ["zuno"], q2: ["Yes"] });
  assert.deepEqual(await session.questions.pending(), []);
});

// case: 89
test("the same command twice counts once; one on an old revision changes nothing", async (t) => {
  const { session } = await bench(t);
  const one = await session.questions.publish(TWO);
  const other = await session.questions.get(one.id);
  const again = await session.questions.get(one.id);
  const first = await one.answer({ q1: "a" });
  const duplicate = await other.answer({ q1: "a" });
  assert.deepEqual([first.duplicate, duplicate.duplicate], [false, true]);
  await assert.rejects(again.answer({ q1: "b" }), { name: "ZunoError", code: "conflict.stale_revision" });
  const changed = one.answer({ q2: "x" }, { commandId: "mine" });
  assert.equal((await changed).duplicate, false);
  await assert.rejects(one.skip({ commandId: "mine" }), { code: /^(conflict|closed)\./ });
  assert.deepEqual((await again.refresh()).view.answers, { q1: ["a"], q2: ["x"] });
});

test("waiting returns at the next change, in time or not", async (t) => {
  const { session } = await bench(t);
  const question = await session.questions.publish(TWO);
  assert.equal(await question.wait({ timeoutMs: 1 }), false);
  const waiting = question.wait();
  await (await session.questions.get(question.id)).defer();
  assert.equal(await waiting, true);
  const controller = new AbortController();
  const given = question.wait({ signal: controller.signal });
  controller.abort("enough");
  await assert.rejects(given, (error) => error === "enough");
});

test("skip and cancel end a question; the events are typed", async (t) => {
  const { session } = await bench(t);
  const events = session.events({ types: ["question.opened", "question.updated", "question.cancelled"] });
  const skipped = await session.questions.publish(TWO);
  await skipped.skip();
  const cancelled = await session.questions.publish(TWO, { closed: true });
  await cancelled.cancel();
  assert.deepEqual([skipped.state, cancelled.state], ["skipped", "cancelled"]);
  const { value: opened } = await events.next();
  assert.ok(opened?.type === "question.opened" && opened.data.id === skipped.id);
  const { value: updated } = await events.next();
  assert.ok(updated?.type === "question.updated" && updated.data.state === "skipped");
  events.close();
  assert.equal((await session.questions.list("skipped")).length, 1);
});

test("a pending question outlives its process's runtime", async (t) => {
  const where = folder(t);
  const store = path.join(where, "state.db");
  const first = await open({ store, approve: () => allow.once(), config: CONFIG });
  const session = await first.session({ directory: where });
  const published = await session.questions.publish(TWO);
  await published.answer({ q1: "kept" });
  await first.close();

  const second = await open({ store, config: CONFIG });
  t.after(() => second.close());
  const [question]: Question[] = await (await second.session({ id: session.id })).questions.pending();
  assert.equal(question?.id, published.id);
  assert.equal(question?.revision, published.revision);
  assert.deepEqual(question?.view.answers, { q1: ["kept"] });
  await question?.answer({ q2: "Yes" });
  assert.equal(question?.state, "answered");
});
