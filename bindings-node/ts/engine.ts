import { type Running, abortable } from "./abort.js";
import { asRecord, closedError, fromDocument, fromNative } from "./errors.js";
import { atExit } from "./exit.js";
import { Causes, type Handlers } from "./handlers.js";
import type { Item, OperationItem, RequestItem } from "./items.js";
import { describe, encode } from "./json.js";
import { type NativeHandle, addon } from "./native.js";
import { RawQueue } from "./raw.js";
import type { EventBuffer } from "./stream.js";

/** Items read in one go; between two goes the event loop runs. */
const PORTION = 256;

interface Settle {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * A runtime and what serves it on this event loop. Holds no reference to the objects that users hold.
 *
 * Operations in flight keep the loop open; idle sessions and subscriptions do not.
 */
export class Engine {
  readonly handlers: Handlers;
  readonly causes = new Causes();
  readonly raw = new RawQueue();
  readonly #native: NativeHandle;
  readonly #rawPorts: ReadonlySet<string>;
  readonly #ops = new Map<number, Settle>();
  readonly #rawOps = new Set<number>();
  readonly #streams = new Map<number, EventBuffer>();
  readonly #ended = new Set<number>();
  readonly #serving = new Map<string, AbortController>();
  #holding = false;
  #closing: Promise<void> | undefined;
  #closed: (() => void) | undefined;
  #forgetExit: () => void;

  private constructor(native: NativeHandle, handlers: Handlers, rawPorts: ReadonlySet<string>) {
    this.#native = native;
    this.handlers = handlers;
    this.#rawPorts = rawPorts;
    this.#forgetExit = atExit(() => native.closeNow());
  }

  static async open(options: string, handlers: Handlers, rawPorts: ReadonlySet<string>): Promise<Engine> {
    let engine: Engine | undefined;
    let native: NativeHandle;
    try {
      native = await addon().open(options, () => engine?.pump());
    } catch (error) {
      throw fromNative(error);
    }
    engine = new Engine(native, handlers, rawPorts);
    engine.pump();
    return engine;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Runs a method that never needs the host, at once: for registrations and subscriptions. */
  now(method: string, params: object): unknown {
    const document = encode(params);
    try {
      return JSON.parse(this.#native.call(method, document));
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Runs a method. */
  run(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    try {
      return abortable(signal, () => this.#begin(method, params));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #begin(method: string, params: object): Running<unknown> {
    const op = this.#start(method, params);
    const result = new Promise<unknown>((resolve, reject) => this.#ops.set(op, { resolve, reject }));
    this.#updateHold();
    return { result, cancel: () => this.#native.cancel(op) };
  }

  #start(method: string, params: object): number {
    const document = encode(params);
    try {
      return this.#native.start(method, document);
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Starts a method whose end comes out of `raw`. */
  startRaw(method: string, params: object): number {
    const op = this.#start(method, params);
    this.#rawOps.add(op);
    this.#updateHold();
    return op;
  }

  cancel(op: number): boolean {
    return this.#native.cancel(op);
  }

  respond(request: string, answer: unknown): boolean {
    const document = encode(answer);
    try {
      return this.#native.respond(request, document);
    } catch (error) {
      throw fromNative(error);
    }
  }

  fail(request: string, code: string, message: string): boolean {
    return this.#native.fail(request, code, message);
  }

  /** Makes or renews a buffer's subscription. Its events cannot come before it is known: this does not give way. */
  subscribe(buffer: EventBuffer): void {
    const answer = asRecord(this.now("event.subscribe", buffer.parameters()));
    buffer.subscription = Number(answer["subscriptionId"]);
    this.#streams.set(buffer.subscription, buffer);
  }

  /** Ends a buffer's subscription. */
  unsubscribe(buffer: EventBuffer): void {
    const subscription = buffer.subscription;
    if (subscription === undefined) return;
    buffer.subscription = undefined;
    this.#streams.delete(subscription);
    if (this.closed) return;
    // Events of it may be in the queue; nobody wants them.
    this.#ended.add(subscription);
    this.now("event.unsubscribe", { subscriptionId: subscription });
  }

  /** Ends calls, requests and subscriptions; the runtime is closed when the promise is fulfilled. */
  close(deadlineMs: number): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#closed = resolve;
      this.#updateHold(true);
      this.#native.close(deadlineMs);
    });
    return this.#closing;
  }

  /** Reads the queue. Called by the addon, which must never see an exception. */
  pump(): void {
    let texts: string[];
    try {
      texts = this.#native.drain(PORTION);
    } catch {
      return;
    }
    for (const text of texts) {
      try {
        this.#route(text);
      } catch (error) {
        process.emitWarning(`An item of the queue could not be read: ${describe(error)}`, "ZunoWarning");
      }
    }
  }

  #route(text: string): void {
    const item = JSON.parse(text) as Item;
    switch (item.type) {
      case "op":
        return this.#settle(item);
      case "request":
        return this.#request(item);
      case "cancelled":
        return this.#withdraw(item.requestId, item);
      case "event": {
        const buffer = this.#streams.get(item.subscriptionId);
        if (buffer !== undefined) {
          if (!buffer.push(item.event, text.length)) this.unsubscribe(buffer);
        } else if (!this.#ended.has(item.subscriptionId)) {
          this.raw.push(item);
        }
        return;
      }
      case "closed":
        return this.#end(item);
    }
  }

  #settle(item: OperationItem): void {
    const waiting = this.#ops.get(item.id);
    if (waiting === undefined) {
      this.#rawOps.delete(item.id);
      this.raw.push(item);
    } else {
      this.#ops.delete(item.id);
      if (item.error === null) waiting.resolve(item.result);
      else waiting.reject(fromDocument(item.error));
    }
    this.#updateHold();
  }

  #request(item: RequestItem): void {
    if (this.handlers.serves(item)) {
      void this.#serve(item);
    } else if (this.#rawPorts.has(item.kind)) {
      this.raw.push(item);
    } else {
      this.fail(item.id, "host.unsupported", `The Node host has no handler for this \`${item.kind}\` request.`);
    }
  }

  async #serve(item: RequestItem): Promise<void> {
    const controller = new AbortController();
    this.#serving.set(item.id, controller);
    try {
      // A turn later: a handler must not run inside the reading of the queue.
      await undefined;
      this.respond(item.id, await this.handlers.answer(item, controller.signal));
    } catch (error) {
      const refused = this.handlers.refusal(item, error);
      if (refused.answer !== undefined) this.#tryRespond(item.id, refused.answer);
      else {
        this.causes.keep(item, error);
        if (!this.fail(item.id, "host.failed", refused.message)) this.causes.drop(item);
      }
    } finally {
      this.#serving.delete(item.id);
    }
  }

  #tryRespond(request: string, answer: unknown): void {
    try {
      this.respond(request, answer);
    } catch (error) {
      this.fail(request, "host.failed", `The handler's error could not be passed on: ${describe(error)}`);
    }
  }

  #withdraw(request: string, item: Item): void {
    const serving = this.#serving.get(request);
    if (serving === undefined) this.raw.push(item);
    else serving.abort(new DOMException("The answer is no longer wanted: the call was cancelled.", "AbortError"));
  }

  #end(item: Item): void {
    for (const waiting of this.#ops.values()) waiting.reject(closedError());
    for (const controller of this.#serving.values()) controller.abort(closedError());
    for (const buffer of this.#streams.values()) buffer.end();
    this.#ops.clear();
    this.#rawOps.clear();
    this.#streams.clear();
    this.raw.end(item);
    this.#forgetExit();
    this.#native.free();
    this.#holding = false;
    this.#closing ??= Promise.resolve();
    this.#closed?.();
  }

  #updateHold(closing = this.#closing !== undefined): void {
    const wanted = closing || this.#ops.size > 0 || this.#rawOps.size > 0;
    if (wanted === this.#holding) return;
    this.#holding = wanted;
    this.#native.hold(wanted);
  }
}
