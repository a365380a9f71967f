import type {
  Effect,
  Json,
  PermissionRequest,
  Replay,
  Concurrency,
  ToolError,
  HostToolSpec,
  Attachment,
  Continuation,
} from "./generated/protocol.js";
import { ZunoError } from "./errors.js";

/** A value now or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/** What every handler is given beside its request. */
export interface HandlerContext {
  /** Fires when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** An answer to an approval request. Made by `allow` and `deny`. */
export type Decision =
  { readonly reply: "once" | "always" } | { readonly reply: "reject"; readonly message: string | null };

/** Yes, to an approval request. */
export const allow = {
  /** This call only. */
  once: (): Decision => ({ reply: "once" }),
  /** This call, and what the request offers for the rest of the session. */
  always: (): Decision => ({ reply: "always" }),
} as const;

/** No, to an approval request. The reason is given to the model. */
export function deny(reason?: string): Decision {
  return { reply: "reject", message: reason ?? null };
}

/** The payload of an `approval` request. */
export type ApprovalPayload = PermissionRequest;

/** Somebody has to allow a call. */
export interface ApprovalRequest extends PermissionRequest {
  /** One line: what would happen. */
  readonly summary: string;
  /** The unified diff of what would be written; `null` for calls that write no file. */
  readonly diff: string | null;
}

/** The payload of an `environment` request: a command that is about to run. */
export interface EnvironmentPayload {
  readonly sessionId: string;
  readonly callId: string;
  readonly command: string;
  readonly workdir: string;
  /** The environment it would see. */
  readonly env: { readonly [name: string]: string };
}

/** A shell command that is about to run, with the environment it would see. */
export type Command = EnvironmentPayload;

/** The whole environment a command shall see; `undefined` values are left out. */
export type EnvironmentAnswer = { readonly [name: string]: string | undefined };

/** The payload of a `hostTool` request. */
export interface HostToolPayload {
  readonly tool: string;
  readonly sessionId: string;
  readonly messageId: string;
  readonly callId: string;
  readonly arguments: { readonly [name: string]: Json };
}

/** A call that is about to be judged. */
export interface BeforeCall {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly arguments: { readonly [name: string]: Json };
  readonly effect: Effect;
  readonly replay: Replay;
  readonly concurrency: Concurrency;
}

/** A call that has run and is about to be settled. */
export interface AfterCall {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly arguments: { readonly [name: string]: Json };
  readonly outcome: "ok" | "blocked" | "error" | "uncertain";
  readonly title: string;
  readonly output: string;
  readonly metadata: { readonly [key: string]: Json };
}

/** The payload of a before-call `hook` request. */
export interface BeforeCallPayload extends BeforeCall {
  readonly hookId: string;
  readonly hook: "beforeCall";
}

/** The payload of an after-call `hook` request. */
export interface AfterCallPayload extends AfterCall {
  readonly hookId: string;
  readonly hook: "afterCall";
}

/** A before-call hook's answer. Made by `block` and `rewrite`. */
export type HookDecision =
  | { readonly decision: "block"; readonly reason: string }
  | { readonly decision: "rewrite"; readonly arguments: object };

/** A before-call hook's no. The reason is given to the model. */
export function block(reason: string): HookDecision {
  return { decision: "block", reason };
}

/** A before-call hook's other arguments; they are validated and judged like the first ones. */
export function rewrite(args: object): HookDecision {
  return { decision: "rewrite", arguments: args };
}

/** Decides an approval request; may take a second or a week. */
export type ApproveHandler = (request: ApprovalRequest, context: HandlerContext) => Awaitable<Decision>;

/** Answers with the whole environment a command shall see; `undefined` leaves it as it is. */
export type EnvironmentHandler = (
  command: Command,
  context: HandlerContext,
) => Awaitable<EnvironmentAnswer | undefined>;

/** Sees a call before it is judged. */
export type BeforeCallHandler = (
  call: BeforeCall,
  context: HandlerContext,
) => Awaitable<HookDecision | undefined | void>;

/** Sees a call before it is settled; may answer further metadata. */
export type AfterCallHandler = (
  call: AfterCall,
  context: HandlerContext,
) => Awaitable<{ readonly [key: string]: unknown } | undefined | void>;

/** Declares a tool of the host. What is not declared counts as the strictest. */
export type ToolSpec = HostToolSpec;

/** Where a host tool was called. */
export interface ToolContext extends HandlerContext {
  readonly tool: string;
  readonly sessionId: string;
  readonly messageId: string;
  readonly callId: string;
}

/** A host tool's answer, when text alone does not do. */
export interface ToolOutput {
  readonly output: string;
  readonly title?: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly attachments?: readonly Attachment[];
  readonly continuation?: Continuation;
}

/** Runs a host tool. */
export type ToolHandler<Args extends object = { readonly [name: string]: Json }> = (
  args: Args,
  context: ToolContext,
) => Awaitable<string | ToolOutput | undefined | void>;

/** How a host tool says that it failed. */
export interface ToolFailureOptions {
  /** Default `Failed`. */
  readonly kind?: ToolError["kind"];
  /** A stable lower-case word. */
  readonly code?: string;
  /** Paths that changed nevertheless. */
  readonly appliedPaths?: readonly string[];
  readonly cause?: unknown;
}

/** Thrown by a host tool to say how it failed. Any other exception means that the handler itself failed. */
export class ToolFailure extends ZunoError {
  readonly kind: ToolError["kind"];
  readonly toolCode: string | undefined;
  readonly appliedPaths: readonly string[];

  constructor(message: string, options: ToolFailureOptions = {}) {
    super("host.failed", message, {}, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = options.kind ?? "Failed";
    this.toolCode = options.code;
    this.appliedPaths = options.appliedPaths ?? [];
  }

  override get name(): string {
    return "ToolFailure";
  }
}
