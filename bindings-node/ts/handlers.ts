import { asRecord } from "./errors.js";
import {
  type AfterCallHandler,
  type ApprovalPayload,
  type ApprovalRequest,
  type ApproveHandler,
  type BeforeCallHandler,
  type EnvironmentHandler,
  type EnvironmentPayload,
  type HandlerContext,
  type ToolContext,
  ToolFailure,
} from "./host.js";
import type { RequestItem } from "./items.js";
import { describe, given, show } from "./json.js";

/** A host tool as it is kept: its arguments were validated against its schema. */
type AnyToolHandler = (args: never, context: ToolContext) => unknown;

type Hook =
  | { readonly when: "beforeCall"; readonly handler: BeforeCallHandler }
  | { readonly when: "afterCall"; readonly handler: AfterCallHandler };

/** A handler answered something that is no answer to its request. */
class BadAnswer extends Error {}

/** What to tell the library about a handler that did not answer: an answer after all, or the message of `fail`. */
interface Refusal {
  readonly answer?: unknown;
  readonly message: string;
}

/** What the host installed. */
export class Handlers {
  readonly tools = new Map<string, AnyToolHandler>();
  readonly hooks = new Map<string, Hook>();
  readonly #approve: ApproveHandler | undefined;
  readonly #environment: EnvironmentHandler | undefined;

  constructor(approve: ApproveHandler | undefined, environment: EnvironmentHandler | undefined) {
    this.#approve = approve;
    this.#environment = environment;
  }

  /** The ports to open with; tools and hooks may be added at any time. */
  ports(extra: Iterable<string>): string[] {
    const found = new Set(["hostTool", "hook", ...extra]);
    if (this.#approve !== undefined) found.add("approval");
    if (this.#environment !== undefined) found.add("environment");
    return [...found];
  }

  /** Whether a handler is installed for a request. */
  serves(item: RequestItem): boolean {
    switch (item.kind) {
      case "approval":
        return this.#approve !== undefined;
      case "environment":
        return this.#environment !== undefined;
      case "hostTool":
        return this.tools.has(item.payload.tool);
      case "hook":
        return this.hooks.has(item.payload.hookId);
      default:
        return false;
    }
  }

  /** Runs the handler of a request and returns its answer as the library takes it. */
  async answer(item: RequestItem, signal: AbortSignal): Promise<unknown> {
    const context: HandlerContext = { signal };
    switch (item.kind) {
      case "approval":
        return approvalAnswer(await this.#approve?.(approvalRequest(item.payload), context));
      case "environment":
        return environmentAnswer(item.payload, await this.#environment?.(item.payload, context));
      case "hostTool": {
        const { tool, sessionId, messageId, callId } = item.payload;
        const handler = this.tools.get(tool);
        return toolAnswer(
          await handler?.(item.payload.arguments as never, { tool, sessionId, messageId, callId, signal }),
        );
      }
      case "hook": {
        const hook = this.hooks.get(item.payload.hookId);
        if (hook?.when === "beforeCall" && item.payload.hook === "beforeCall") {
          return beforeAnswer(await hook.handler(item.payload, context));
        }
        if (hook?.when === "afterCall" && item.payload.hook === "afterCall") {
          return afterAnswer(await hook.handler(item.payload, context));
        }
      }
    }
    throw new BadAnswer("is not there any more");
  }

  refusal(item: RequestItem, error: unknown): Refusal {
    if (error instanceof ToolFailure && item.kind === "hostTool") {
      const applied = error.appliedPaths.length > 0 ? error.appliedPaths : undefined;
      const told = given({ kind: error.kind, code: error.toolCode, message: error.message, appliedPaths: applied });
      return { answer: { error: told }, message: error.message };
    }
    const label = labelOf(item);
    if (error instanceof BadAnswer) return { message: `The handler \`${label}\` ${error.message}.` };
    return { message: `The handler \`${label}\` failed: ${describe(error)}` };
  }
}

function labelOf(item: RequestItem): string {
  switch (item.kind) {
    case "approval":
      return "approve";
    case "hostTool":
      return item.payload.tool;
    case "hook":
      return item.payload.hook;
    default:
      return item.kind;
  }
}

/** The request a person decides about. */
export function approvalRequest(payload: ApprovalPayload): ApprovalRequest {
  return Object.defineProperties({ ...payload } as ApprovalRequest, {
    summary: { get: () => summaryOf(payload) },
    diff: { get: () => diffOf(payload) },
  });
}

function summaryOf(payload: ApprovalPayload): string {
  for (const key of ["command", "filepath", "name"]) {
    const fact = payload.metadata[key];
    if (typeof fact === "string") return `${payload.tool}: ${fact}`;
  }
  const patterns = payload.asks.flatMap((ask) => ask.patterns);
  return patterns.length > 0 ? `${payload.tool}: ${patterns.join(", ")}` : payload.tool;
}

function diffOf(payload: ApprovalPayload): string | null {
  const writes = ["write", "edit", "apply_patch"].includes(payload.tool);
  const found = typeof payload.preview === "string" && writes ? payload.preview : asRecord(payload.preview)["diff"];
  return typeof found === "string" ? found : null;
}

function approvalAnswer(answer: unknown): object {
  const { reply, message } = asRecord(answer);
  if (reply === "once" || reply === "always") return { reply };
  if (reply === "reject" && (message === undefined || message === null || typeof message === "string")) {
    return { reply, message: message || null };
  }
  throw new BadAnswer(`answered ${show(answer)}; answer allow.once(), allow.always() or deny(reason)`);
}

function environmentAnswer(payload: EnvironmentPayload, answer: unknown): object {
  if (answer === undefined || answer === null) return { set: {}, remove: [] };
  const entries = Object.entries(answer).filter(([, value]) => value !== undefined);
  if (typeof answer !== "object" || Array.isArray(answer) || entries.some(([, value]) => typeof value !== "string")) {
    throw new BadAnswer(
      `answered ${show(answer)}; answer an object of strings, or undefined to leave everything as it is`,
    );
  }
  const wanted = new Map(entries);
  const changed = entries.filter(([name, value]) => payload.env[name] !== value);
  return { set: Object.fromEntries(changed), remove: Object.keys(payload.env).filter((name) => !wanted.has(name)) };
}

function toolAnswer(answer: unknown): object {
  if (answer === undefined || answer === null) return { output: "" };
  if (typeof answer === "string") return { output: answer };
  const { output, title, metadata, attachments, continuation } = asRecord(answer);
  if (typeof output !== "string")
    throw new BadAnswer(`answered ${show(answer)}; answer a text, or { output, title?, metadata? }`);
  return given({ output, title, metadata, attachments, continuation });
}

function beforeAnswer(answer: unknown): object {
  if (answer === undefined || answer === null) return { decision: "continue" };
  const { decision, reason, arguments: args } = asRecord(answer);
  if (decision === "block" && typeof reason === "string") return { decision, reason };
  if (decision === "rewrite" && typeof args === "object" && args !== null) return { decision, arguments: args };
  throw new BadAnswer(`answered ${show(answer)}; answer undefined, block(reason) or rewrite(arguments)`);
}

function afterAnswer(answer: unknown): object {
  if (answer === undefined || answer === null) return { metadata: {} };
  if (typeof answer === "object" && !Array.isArray(answer)) return { metadata: answer };
  throw new BadAnswer(`answered ${show(answer)}; answer an object of metadata, or undefined`);
}

/** What handlers threw, kept until the result of their call is read; the oldest go first. */
export class Causes {
  static readonly #LIMIT = 256;
  readonly #kept = new Map<string, unknown>();

  keep(item: RequestItem, error: unknown): void {
    this.#kept.set(keyOf(item), error);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= Causes.#LIMIT) return;
      this.#kept.delete(oldest);
    }
  }

  drop(item: RequestItem): void {
    this.#kept.delete(keyOf(item));
  }

  /** What a handler threw during this call. */
  take({ sessionId, messageId, callId }: { sessionId: string; messageId: string; callId: string }): unknown {
    let found: unknown;
    for (const key of [keyFor(sessionId, messageId, callId), keyFor(sessionId, undefined, callId)]) {
      found ??= this.#kept.get(key);
      this.#kept.delete(key);
    }
    return found;
  }
}

function keyOf(item: RequestItem): string {
  const { sessionId, messageId, callId } = asRecord(item.payload);
  return keyFor(sessionId, messageId, callId);
}

/** Hooks and the environment are not told the message; call ids alone are unique inside of one. */
function keyFor(sessionId: unknown, messageId: unknown, callId: unknown): string {
  return JSON.stringify([sessionId, messageId ?? null, callId]);
}
