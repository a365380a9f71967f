import type { Engine } from "./engine.js";
import type { Event, EventType } from "./events.js";
import { given } from "./json.js";
import type { Session } from "./session.js";

const ENTRIES = 1024;
const CHARACTERS = 8 << 20;

/** What to follow. */
export interface EventOptions {
  /** First the stored events after this number, then new ones, without gap or repetition. */
  readonly after?: number;
  /** Live events too; default true. */
  readonly live?: boolean;
  /** Only these types. */
  readonly types?: readonly EventType[];
  /** Ends the stream with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Events between the queue and a reader that may be slow. Memory is bounded and nothing durable is lost: a full buffer ends
 * its subscription, and the reader takes a new one from where it stands.
 */
export class EventBuffer {
  subscription: number | undefined;
  closed = false;
  readonly #sessionId: string;
  readonly #live: boolean;
  readonly #types: readonly EventType[] | undefined;
  readonly #held: { event: Event; size: number }[] = [];
  #size = 0;
  #position: number | undefined;
  #overflowed = false;
  #dropped = 0;
  /** Called when there is something to read, or nothing follows. */
  arrived: () => void = () => {};

  constructor(sessionId: string, options: EventOptions) {
    this.#sessionId = sessionId;
    this.#live = options.live ?? true;
    this.#types = options.types;
    this.#position = options.after;
  }

  /** Of `event.subscribe`, from where this buffer stands. */
  parameters(): object {
    return given({ sessionId: this.#sessionId, after: this.#position, live: this.#live, types: this.#types });
  }

  /** Takes an event; `false` = full, the subscription has to end. */
  push(event: Event, size: number): boolean {
    if (this.#held.length >= ENTRIES || (this.#held.length > 0 && this.#size + size > CHARACTERS)) {
      this.#overflowed = true;
      if (!event.durable) this.#dropped += 1;
      // Nothing was taken yet: the first event missed is the one to go on with.
      this.#position ??= event.durable ? event.seq - 1 : event.seq;
      return false;
    }
    if (event.durable || this.#position === undefined) this.#position = event.seq;
    this.#size += size;
    this.#held.push({ event, size });
    this.arrived();
    return true;
  }

  /** The oldest event. */
  pop(): Event | undefined {
    const first = this.#held.shift();
    if (first !== undefined) this.#size -= first.size;
    return first?.event;
  }

  /** Everything held was read and the subscription had ended. */
  get needsSubscription(): boolean {
    return this.#overflowed && this.#held.length === 0 && !this.closed;
  }

  /** Called before a new subscription; the notice of what was lost, when something was. */
  resume(): Event | undefined {
    this.#overflowed = false;
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped === 0) return undefined;
    const seq = this.#position ?? 0;
    return {
      id: "",
      type: "stream.lagged",
      sessionId: this.#sessionId,
      seq,
      durable: false,
      time: Date.now(),
      turnId: null,
      cycleId: null,
      rootSessionId: null,
      data: { dropped, resumeAfter: seq },
    };
  }

  /** Nothing follows what is held. */
  end(): void {
    this.closed = true;
    this.subscription = undefined;
    this.arrived();
  }
}

interface Waiting {
  resolve(result: IteratorResult<Event, undefined>): void;
  reject(error: unknown): void;
}

/**
 * Events of a session, one by one. Being subscribed never keeps the process alive, and reading slowly holds up nobody: what
 * does not fit is fetched again from the store, and lost live events are announced by a `stream.lagged` event. Ends when the
 * runtime is closed.
 */
export class EventStream implements AsyncIterableIterator<Event, undefined> {
  /** What is followed. */
  readonly session: Session;
  readonly #engine: Engine;
  readonly #buffer: EventBuffer;
  readonly #waiting: Waiting[] = [];
  readonly #signal: AbortSignal | undefined;
  #failure: { reason: unknown } | undefined;

  constructor(engine: Engine, session: Session, options: EventOptions) {
    this.#engine = engine;
    this.session = session;
    this.#signal = options.signal;
    this.#buffer = new EventBuffer(session.id, options);
    this.#buffer.arrived = () => this.#serve();
    if (options.signal?.aborted) {
      this.#abort();
      return;
    }
    options.signal?.addEventListener("abort", this.#abort, { once: true });
    engine.subscribe(this.#buffer);
  }

  readonly #abort = (): void => {
    this.#failure = { reason: this.#signal?.reason };
    this.close();
  };

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next event. */
  next(): Promise<IteratorResult<Event, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Ends the subscription; called by a `for await` that is left. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the subscription. What had arrived may still be read. */
  close(): void {
    if (this.#buffer.closed) return;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#engine.unsubscribe(this.#buffer);
    this.#buffer.end();
  }

  /** Whether nothing more can arrive. */
  get closed(): boolean {
    return this.#buffer.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const event = this.#buffer.pop() ?? this.#renew();
      if (event !== undefined) {
        this.#waiting.shift();
        first.resolve({ done: false, value: event });
      } else if (this.#buffer.closed) {
        this.#waiting.shift();
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure === undefined) first.resolve({ done: true, value: undefined });
        else first.reject(failure.reason);
      } else {
        return;
      }
    }
  }

  /** Takes a new subscription when the last one had to end; returns the notice of what was lost. */
  #renew(): Event | undefined {
    if (!this.#buffer.needsSubscription) return undefined;
    const notice = this.#buffer.resume();
    try {
      this.#engine.subscribe(this.#buffer);
    } catch (reason) {
      if (!this.#engine.closed) this.#failure = { reason };
      this.#buffer.end();
    }
    return notice;
  }
}
