import type { Engine } from "./engine.js";
import { asRecord } from "./errors.js";
import type {
  CreateParams,
  Grant,
  Grants,
  Json,
  Methods,
  PermissionRequest,
  Requests,
  SessionRecord,
  Sessions,
  ToolInfo,
  Tools,
  Waiting,
  WaitingList,
} from "./generated/protocol.js";
import { approvalRequest } from "./handlers.js";
import type { AfterCallHandler, ApprovalRequest, BeforeCallHandler, Decision, ToolHandler, ToolSpec } from "./host.js";
import type { Item } from "./items.js";
import { given } from "./json.js";
import { Session } from "./session.js";

/** A method of the protocol. */
export type MethodName = keyof Methods;

/** What a method takes. */
export type ParamsOf<Name extends string> = Name extends MethodName ? Methods[Name]["params"] : object;

/** What a method answers. */
export type ResultOf<Name extends string> = Name extends MethodName ? Methods[Name]["result"] : Json;

type Arguments<Name extends string> =
  {} extends ParamsOf<Name>
    ? [params?: ParamsOf<Name>, options?: RunOptions]
    : [params: ParamsOf<Name>, options?: RunOptions];

/** What can be said about running a method. */
export interface RunOptions {
  /** Cancels the operation; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A new session in a directory, or one that exists. */
export type SessionOptions = CreateParams | { readonly id: string };

/** Something that was registered and can be taken back. */
export interface Registration {
  /** Takes it back; says whether it was still there. */
  remove(): boolean;
}

/** Requests that wait for a decision, for hosts that decide elsewhere than in `approve`. */
export class Permissions {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Requests that wait. */
  async pending(sessionId?: string): Promise<ApprovalRequest[]> {
    const found = (await this.#engine.run("permission.list", given({ sessionId }))) as Requests;
    return found.requests.map(approvalRequest);
  }

  /** Decides one; exactly one reply counts, a later one fails with `closed.object`. */
  async reply(requestId: string, decision: Decision): Promise<PermissionRequest> {
    return (await this.#engine.run("permission.reply", { requestId, ...decision })) as PermissionRequest;
  }

  /** What `allow.always()` has granted in a session. */
  async grants(sessionId: string): Promise<Grant[]> {
    return ((await this.#engine.run("permission.grants", { sessionId })) as Grants).grants;
  }
}

const unclosed = new FinalizationRegistry<Engine>((engine) => {
  if (engine.closed) return;
  process.emitWarning("A runtime of zuno was given up without being closed. Close it, or hold it with `await using`.", {
    type: "ZunoWarning",
    code: "ZUNO_UNCLOSED",
  });
});

/** An open runtime. Close it, or hold it with `await using`. Idle, it keeps no process alive. */
export class Runtime {
  /** Requests that wait for a decision. */
  readonly permissions: Permissions;
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
    this.permissions = new Permissions(engine);
    unclosed.register(this, engine, this);
  }

  /** A new durable session in a directory, or with `id` one that exists. */
  async session(options: SessionOptions): Promise<Session> {
    const found =
      "id" in options
        ? this.#engine.run("session.open", { sessionId: options.id })
        : this.#engine.run("session.create", options);
    return new Session(this.#engine, this, (await found) as SessionRecord);
  }

  /** Every session of the store. */
  async sessions(): Promise<SessionRecord[]> {
    return ((await this.#engine.run("session.list", {})) as Sessions).sessions;
  }

  /** Every registered tool with its declarations. */
  async tools(): Promise<ToolInfo[]> {
    return ((await this.#engine.run("tool.list", {})) as Tools).tools;
  }

  /** Everything that waits for a person, of every kind, in one list. */
  async waiting(): Promise<Waiting[]> {
    return ((await this.#engine.run("runtime.waiting", {})) as WaitingList).waiting;
  }

  /** What this machine offers. */
  async diagnostics(): Promise<{ readonly [key: string]: Json }> {
    return (await this.#engine.run("runtime.diagnostics", {})) as { [key: string]: Json };
  }

  /** Effective configuration, with the layer of each value. */
  async config(): Promise<{ readonly [key: string]: Json }> {
    return (await this.#engine.run("runtime.config", {})) as { [key: string]: Json };
  }

  /** Registers a tool of the host. What is not declared counts as the strictest: side-effecting, never replayed, exclusive. */
  tool<Args extends object = { readonly [name: string]: Json }>(
    spec: ToolSpec,
    handler: ToolHandler<Args>,
  ): Registration {
    const { handlers } = this.#engine;
    this.#engine.now("tool.register", spec);
    handlers.tools.set(spec.name, handler);
    return {
      remove: () => {
        if (handlers.tools.get(spec.name) !== handler) return false;
        handlers.tools.delete(spec.name);
        return this.#removed("tool.unregister", { name: spec.name });
      },
    };
  }

  /** Registers a hook that sees a call before it is judged and may answer `block(...)` or `rewrite(...)`. */
  beforeCall(handler: BeforeCallHandler, options: { readonly tools?: readonly string[] } = {}): Registration {
    const hookId = this.#hook("beforeCall", options);
    this.#engine.handlers.hooks.set(hookId, { when: "beforeCall", handler });
    return this.#hooked(hookId);
  }

  /** Registers a hook that sees a call before it is settled and may answer further metadata. */
  afterCall(handler: AfterCallHandler, options: { readonly tools?: readonly string[] } = {}): Registration {
    const hookId = this.#hook("afterCall", options);
    this.#engine.handlers.hooks.set(hookId, { when: "afterCall", handler });
    return this.#hooked(hookId);
  }

  #hook(hook: string, options: object): string {
    return String(asRecord(this.#engine.now("hook.register", { hook, ...options }))["hookId"]);
  }

  #hooked(hookId: string): Registration {
    return {
      remove: () => {
        const { hooks } = this.#engine.handlers;
        // A request that is under way still finds its handler; it is dropped when the library has forgotten the hook.
        const removed = hooks.has(hookId) && this.#removed("hook.unregister", { hookId });
        hooks.delete(hookId);
        return removed;
      },
    };
  }

  #removed(method: string, params: object): boolean {
    return !this.#engine.closed && asRecord(this.#engine.now(method, params))["removed"] === true;
  }

  /** Runs a method of the protocol. */
  async call<Name extends string>(method: Name, ...[params, options]: Arguments<Name>): Promise<ResultOf<Name>> {
    return (await this.#engine.run(method, params ?? {}, options?.signal)) as ResultOf<Name>;
  }

  /** Starts a method of the protocol; exactly one `op` item with this id comes out of `next`. */
  start<Name extends string>(method: Name, ...[params]: Arguments<Name>): number {
    return this.#engine.startRaw(method, params ?? {});
  }

  /** Cancels an operation; says whether it was still running. */
  cancel(op: number): boolean {
    return this.#engine.cancel(op);
  }

  /** Answers a request; says whether the answer was still wanted. */
  respond(requestId: string, answer: object): boolean {
    return this.#engine.respond(requestId, answer);
  }

  /** Answers a request with an error; says whether the answer was still wanted. */
  fail(requestId: string, code: string, message: string): boolean {
    return this.#engine.fail(requestId, code, message);
  }

  /**
   * The next item that no handler, stream or call of the typed layer has taken; `null` when none came in time, or nothing
   * follows. Waiting keeps no process alive by itself.
   */
  next(timeoutMs?: number): Promise<Item | null> {
    return this.#engine.raw.next(timeoutMs);
  }

  /** Whether the runtime was closed. */
  get closed(): boolean {
    return this.#engine.closed;
  }

  /** Ends what runs, within the deadline; calls in flight end with an outcome of their own. A second call changes nothing. */
  close(options: { readonly deadlineMs?: number } = {}): Promise<void> {
    unclosed.unregister(this);
    return this.#engine.close(options.deadlineMs ?? 5000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
