// Runs one plan through the Node face's raw protocol: driver.mjs FOLDER.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";

import { ZunoError, open } from "../../../../bindings-node/dist/esm.mjs";

const WAIT_MS = 30_000;

class OutOfTime extends Error {}

function at(document, pointer) {
  return pointer
    .split("/")
    .slice(1)
    .reduce((found, key) => found?.[key] ?? undefined, document);
}

const matches = (item, pairs) => pairs.every(([pointer, text]) => at(item, pointer) === text);

const told = ({ code, message, details }) => ({
  code,
  message,
  details: details ?? {},
});

class Driver {
  constructor(folder) {
    this.plan = JSON.parse(readFileSync(path.join(folder, "plan.json"), "utf8"));
    this.out = openSync(path.join(folder, "transcript"), "w");
    this.saved = {};
    this.ops = {};
    this.ended = new Map();
    this.step = -1;
  }

  record(end, facts) {
    writeSync(this.out, `${JSON.stringify({ step: this.step, end, ...facts })}\n`);
  }

  async open() {
    const { database: store, ...options } = this.plan.open;
    this.runtime = await open({ store, ...options });
  }

  filled(text) {
    return Object.entries(this.saved).reduce((done, [name, value]) => done.replaceAll(`{{${name}}}`, () => value), text);
  }

  document(text) {
    return JSON.parse(this.filled(text));
  }

  keep(document, save) {
    for (const [name, pointer] of save) this.saved[name] = String(at(document, pointer));
  }

  answer(item) {
    const rule = this.plan.answers.find(({ times, when }) => times !== 0 && matches(item, when));
    if (rule === undefined) return;
    rule.times -= 1;
    if (rule.do === "respond") this.runtime.respond(item.id, this.document(rule.answer));
    if (rule.do === "fail") this.runtime.fail(item.id, rule.code, rule.message);
  }

  async pump() {
    const item = await this.next();
    if (item.type === "op") this.ended.set(item.id, item);
    else this.record(false, { item });
    if (item.type === "request") this.answer(item);
    return item;
  }

  async next() {
    // The face keeps no process alive for a raw wait; a driver wants to live until it is answered.
    const alive = setInterval(() => undefined, WAIT_MS);
    const item = await this.runtime.next(WAIT_MS);
    clearInterval(alive);
    if (item === null) throw new OutOfTime();
    return item;
  }

  async finish(op, save) {
    while (!this.ended.has(op)) await this.pump();
    const { result, error } = this.ended.get(op);
    this.record(true, error === null ? { result } : { error });
    this.keep(result, save);
  }

  async run(step) {
    const { save } = step;
    switch (step.do) {
      case "sync": {
        const result = await this.runtime.call(step.method, this.document(step.params));
        this.record(true, { result });
        return this.keep(result, save);
      }
      case "call":
      case "start": {
        const op = this.runtime.start(step.method, this.document(step.params));
        this.ops[step.as] = op;
        return step.do === "call" ? this.finish(op, save) : undefined;
      }
      case "await":
        return this.finish(this.ops[step.as], save);
      case "until": {
        let item = await this.pump();
        while (!matches(item, step.when)) item = await this.pump();
        this.record(true, { item });
        return this.keep(item, save);
      }
      case "cancel":
        return this.record(true, { flag: this.runtime.cancel(this.ops[step.as]) });
      case "respond":
        return this.record(true, {
          flag: this.runtime.respond(this.filled(step.request), this.document(step.answer)),
        });
      case "fail":
        return this.record(true, { flag: this.runtime.fail(this.filled(step.request), step.code, step.message) });
      case "close":
        return this.runtime.close();
      default:
        await this.close();
        this.ended.clear();
        return this.open();
    }
  }

  async close() {
    await this.runtime.close();
    while ((await this.pump()).type !== "closed");
  }

  async steps() {
    for (const step of this.plan.steps) {
      this.step += 1;
      await this.guarded(() => this.run(step));
    }
    this.step += 1;
    await this.close();
  }

  /** What the face throws is what the step ended with. */
  async guarded(work) {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof ZunoError)) throw error;
      this.record(true, { error: told(error) });
      return false;
    }
  }

  async main() {
    if (!(await this.guarded(() => this.open()))) return;
    try {
      await this.steps();
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
      this.record(false, { timeout: true });
      await this.runtime.close();
    }
    closeSync(this.out);
  }
}

await new Driver(process.argv[2]).main();
