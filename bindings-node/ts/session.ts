import { type ArgumentsOf, type Call, type CallOptions, type OptionsOf, call, split } from "./calls.js";
import type { Engine } from "./engine.js";
import type { Event } from "./events.js";
import type { ToolFormats } from "./formats.js";
import type {
  Calls,
  DispatchResult,
  EventPage,
  Interrupted,
  InterruptReason,
  Message,
  Messages,
  Part,
  SessionRecord,
  SessionTools,
  ReconcileVerdict,
} from "./generated/protocol.js";
import { given } from "./json.js";
import { type Outcome, outcomeOf } from "./outcome.js";
import { Questions } from "./questions.js";
import type { Runtime } from "./runtime.js";
import { type EventOptions, EventStream } from "./stream.js";

/** A durable session in one directory. Made by `runtime.session`. */
export class Session {
  /** What it belongs to. */
  readonly runtime: Runtime;
  /** The session's questions. */
  readonly questions: Questions;
  readonly #engine: Engine;
  #record: SessionRecord;

  /** @internal */
  constructor(engine: Engine, runtime: Runtime, record: SessionRecord) {
    this.#engine = engine;
    this.runtime = runtime;
    this.#record = record;
    this.questions = new Questions(engine, this);
  }

  /** Stable, across restarts too. */
  get id(): string {
    return this.#record.id;
  }

  /** The record as it stood when it was last read. */
  get record(): SessionRecord {
    return this.#record;
  }

  /** Calls a tool by its name: `session.call("read", { filePath: "src/app.ts" })`. */
  async call<Name extends string>(name: Name, args: ArgumentsOf<Name>, options: CallOptions = {}): Promise<Outcome> {
    const [outcome] = await this.dispatch([call(name, args)], options);
    if (outcome === undefined) throw new TypeError(`The call of \`${name}\` has no result.`);
    return outcome;
  }

  /**
   * Runs the calls of one model message: validated, permitted, grouped, executed, settled, recorded. One outcome per call,
   * in call order. `final` ends the turn.
   */
  async dispatch(calls: readonly Call[], options: CallOptions & { readonly final?: boolean } = {}): Promise<Outcome[]> {
    const { signal, messageId, final } = options;
    const params = given({ sessionId: this.id, messageId, calls, final });
    const { results } = (await this.#engine.run("session.dispatch", params, signal)) as DispatchResult;
    return results.map((part) => outcomeOf(part, this.#engine.causes.take(part)));
  }

  /** Reads a file or lists a directory. */
  read(filePath: string, options: OptionsOf<"read", "filePath"> = {}): Promise<Outcome> {
    const [args, rest] = split(options);
    return this.call("read", { filePath, ...args }, rest);
  }

  /** Finds files by name. */
  glob(pattern: string, options: OptionsOf<"glob", "pattern"> = {}): Promise<Outcome> {
    const [args, rest] = split(options);
    return this.call("glob", { pattern, ...args }, rest);
  }

  /** Finds lines by regular expression. */
  grep(pattern: string, options: OptionsOf<"grep", "pattern"> = {}): Promise<Outcome> {
    const [args, rest] = split(options);
    return this.call("grep", { pattern, ...args }, rest);
  }

  /** Writes a whole file; an existing one has to have been read as it is now. */
  write(filePath: string, content: string, options: OptionsOf<"write", "filePath" | "content"> = {}): Promise<Outcome> {
    const [args, rest] = split(options);
    return this.call("write", { filePath, content, ...args }, rest);
  }

  /**
   * Runs a command exactly as written. `timeout` counts milliseconds until the call hands out a handle; it does not stop the
   * command.
   */
  shell(command: string, options: OptionsOf<"shell", "command"> = {}): Promise<Outcome> {
    const [args, rest] = split(options);
    return this.call("shell", { command, ...args }, rest);
  }

  /** Schemas of the tools this session shows, in the form of a provider. */
  async tools<Format extends keyof ToolFormats = "native">(
    options: { readonly format?: Format } = {},
  ): Promise<ToolFormats[Format][]> {
    const found = (await this.#engine.run("session.tools", given({ sessionId: this.id, ...options }))) as SessionTools;
    return found.tools as unknown as ToolFormats[Format][];
  }

  /** Follows the session from now on; with `after` from a stored event on. */
  events(options: EventOptions = {}): EventStream {
    return new EventStream(this.#engine, this, options);
  }

  /** Stored events with a number above `after`, at most 1000. */
  async history(options: { readonly after?: number; readonly limit?: number } = {}): Promise<Event[]> {
    const found = await this.#engine.run("event.read", { sessionId: this.id, after: 0, ...options });
    return (found as EventPage).events as unknown as Event[];
  }

  /** Stored messages with their calls, after an ordinal. */
  async messages(options: { readonly after?: number; readonly limit?: number } = {}): Promise<Message[]> {
    return ((await this.#engine.run("session.messages", { sessionId: this.id, ...options })) as Messages).messages;
  }

  /** Cancels what runs; says whether anything did. */
  async interrupt(reason: InterruptReason = "user_cancel"): Promise<boolean> {
    return ((await this.#engine.run("session.interrupt", { sessionId: this.id, reason })) as Interrupted).interrupted;
  }

  /** Calls whose effect is in doubt and that nobody has looked at. */
  async unsettled(): Promise<Part[]> {
    return ((await this.#engine.run("session.unsettled", { sessionId: this.id })) as Calls).calls;
  }

  /** Says what happened to a call in doubt; once per call. */
  async reconcile(
    callId: string,
    verdict: ReconcileVerdict,
    evidence: string,
    options: { readonly messageId?: string } = {},
  ): Promise<Part> {
    return (await this.#engine.run("session.reconcile", {
      sessionId: this.id,
      callId,
      verdict,
      evidence,
      ...options,
    })) as Part;
  }

  /** Reads the record again. */
  refresh(): Promise<SessionRecord> {
    return this.#move("session.get");
  }

  /** Stops what runs and gives the session up; `runtime.session({ id })` makes it active again. */
  close(): Promise<SessionRecord> {
    return this.#move("session.close");
  }

  /** Closes and puts away. */
  archive(): Promise<SessionRecord> {
    return this.#move("session.archive");
  }

  /** Brings an archived session back. */
  unarchive(): Promise<SessionRecord> {
    return this.#move("session.unarchive");
  }

  async #move(method: string): Promise<SessionRecord> {
    this.#record = (await this.#engine.run(method, { sessionId: this.id })) as SessionRecord;
    return this.#record;
  }

  /** Removes the session and everything it recorded, for good. */
  async delete(): Promise<boolean> {
    const found = await this.#engine.run("session.delete", { sessionId: this.id, confirm: true });
    return (found as { deleted: boolean }).deleted;
  }
}
