import { createHash } from "node:crypto";

import type { Engine } from "./engine.js";
import type {
  Action,
  CommandReceipt,
  Item,
  NewItem,
  Questions as Listed,
  Question as View,
  Waited,
} from "./generated/protocol.js";
import { given } from "./json.js";
import type { Session } from "./session.js";

/** Values by item; one value may be given without its list. */
export type Answers = { readonly [itemId: string]: string | readonly string[] };

/** What a command led to. `duplicate` = the same command had been accepted before; nothing happened twice. */
export type Answered = CommandReceipt;

/** A question as it stood when it was read. */
export type QuestionView = View;

/** One thing that is asked. */
export type QuestionItem = Item;

/** One thing to ask. */
export type QuestionInput = NewItem;

/** Identifies a command, so that sending it twice does it once. By default the same for the same command. */
export interface CommandOptions {
  readonly commandId?: string;
}

/** A question with what can be done about it. It shows the state it was read in; `refresh` reads it again. */
export class Question {
  /** What it belongs to. */
  readonly session: Session;
  readonly #engine: Engine;
  #view: QuestionView;

  constructor(engine: Engine, session: Session, view: QuestionView) {
    this.#engine = engine;
    this.session = session;
    this.#view = view;
  }

  /** The question as it stood when it was last read. */
  get view(): QuestionView {
    return this.#view;
  }

  get id(): string {
    return this.#view.id;
  }

  get revision(): number {
    return this.#view.revision;
  }

  get state(): QuestionView["state"] {
    return this.#view.state;
  }

  get items(): readonly QuestionItem[] {
    return this.#view.questions;
  }

  /** Answers items by id: `{ q1: "Yes" }`. On a question that has moved on it fails with `conflict.*` and changes nothing. */
  answer(answers: Answers, options?: CommandOptions): Promise<Answered> {
    const values: { [itemId: string]: readonly string[] } = {};
    for (const [item, value] of Object.entries(answers)) values[item] = typeof value === "string" ? [value] : value;
    return this.#send({ type: "answer", answers: values }, options);
  }

  /** Later: whoever waits goes on, the question stays open. */
  defer(options?: CommandOptions): Promise<Answered> {
    return this.#send({ type: "defer" }, options);
  }

  /** Somebody is at it: the clock of an optional question stops. */
  snooze(options?: CommandOptions): Promise<Answered> {
    return this.#send({ type: "snooze" }, options);
  }

  /** No answer will come. */
  skip(options?: CommandOptions): Promise<Answered> {
    return this.#send({ type: "skip" }, options);
  }

  /** The question is withdrawn. */
  cancel(options?: CommandOptions): Promise<Answered> {
    return this.#send({ type: "cancel" }, options);
  }

  async #send(action: Action, options: CommandOptions = {}): Promise<Answered> {
    const params = {
      requestId: this.id,
      commandId: options.commandId ?? commandId(this.#view, action),
      expectedRevision: this.revision,
      action,
    };
    const answered = (await this.#engine.run("question.respond", params)) as Answered;
    this.#view = answered.question;
    return answered;
  }

  /** Reads the question again. */
  async refresh(): Promise<this> {
    this.#view = (await this.#engine.run("question.get", { requestId: this.id })) as QuestionView;
    return this;
  }

  /** Waits for the next change; `false` when the time passed without one, or none can follow. */
  async wait(options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<boolean> {
    const params = given({ requestId: this.id, afterRevision: this.revision, timeoutMs: options.timeoutMs });
    const found = (await this.#engine.run("question.wait", params, options.signal)) as Waited;
    this.#view = found.question;
    return found.changed;
  }
}

/** The same for the same command on the same revision. */
function commandId(view: QuestionView, action: Action): string {
  const text = JSON.stringify([view.id, view.revision, action]);
  return `node-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** Questions of a session. */
export class Questions {
  readonly #engine: Engine;
  readonly #session: Session;

  constructor(engine: Engine, session: Session) {
    this.#engine = engine;
    this.#session = session;
  }

  /** Those that wait for an answer, oldest first. */
  pending(): Promise<Question[]> {
    return this.list("pending");
  }

  /** Questions in a state; without one those that are pending. */
  async list(state?: QuestionView["state"]): Promise<Question[]> {
    const found = await this.#engine.run("question.list", given({ sessionId: this.#session.id, state }));
    return (found as Listed).questions.map((view) => new Question(this.#engine, this.#session, view));
  }

  /** One question. */
  async get(requestId: string): Promise<Question> {
    const view = (await this.#engine.run("question.get", { requestId })) as QuestionView;
    return new Question(this.#engine, this.#session, view);
  }

  /** Asks on behalf of the host. Returns at once; nothing waits. */
  async publish(
    questions: readonly QuestionInput[],
    options: { readonly mode?: QuestionView["mode"]; readonly closed?: boolean } = {},
  ): Promise<Question> {
    const params = { sessionId: this.#session.id, mode: "deferred", purpose: "clarification", questions, ...options };
    return new Question(
      this.#engine,
      this.#session,
      (await this.#engine.run("question.publish", params)) as QuestionView,
    );
  }
}
