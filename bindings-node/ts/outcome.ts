import type {
  BlockKind,
  ExitAuthority,
  Json,
  Part,
  ToolError,
  Uncertainty,
  VerificationReceipt as Receipt,
} from "./generated/protocol.js";

/** What a shell exit status proves. */
export interface VerificationReceipt extends Receipt {
  /** The same as `exitAuthority`: how far the exit code reaches. */
  readonly authority: ExitAuthority;
}

/** What stood against a change of a file, and what to do about it. */
export interface Conflict {
  readonly kind: string;
  readonly resource: string;
  readonly requiredActionKind: string;
  readonly requiredAction: string;
  readonly [key: string]: Json;
}

/** A file before and after a call; `oldText` is `null` for a new one. */
export interface FileDiff {
  readonly path: string;
  readonly oldText: string | null;
  readonly newText: string;
}

/** Typed facts of a call; keys that do not apply are left out. */
export interface Metadata {
  readonly writtenPaths?: string[];
  readonly outputPaths?: string[];
  readonly withheldOutput?: { [key: string]: Json };
  readonly verification?: Receipt;
  readonly cancellation?: { [key: string]: Json };
  readonly diff?: string;
  readonly fileDiffs?: FileDiff[];
  readonly postWriteWarnings?: string[];
  readonly requestId?: string;
  readonly effective?: { [key: string]: Json };
  readonly afterHookError?: string;
  readonly [key: string]: unknown;
}

/** The typed error of a call, by kind. */
export type CallError =
  | Exclude<ToolError, { kind: "MutationConflict" }>
  | (Omit<Extract<ToolError, { kind: "MutationConflict" }>, "conflict"> & { conflict: Conflict });

type ErrorOf<Kind extends ToolError["kind"]> = Extract<CallError, { kind: Kind }>;

interface Settled extends Omit<Part, "state" | "outcome" | "blockKind" | "error" | "uncertain" | "metadata"> {
  state: "settled";
  metadata: Metadata;
  /** The verification receipt of a shell command. */
  readonly receipt: VerificationReceipt | null;
  /** Files that exist now and were changed by this call. */
  readonly writtenPaths: readonly string[];
  /** The unified diff of what a file tool left on disk. */
  readonly diff: string | null;
  /** Milliseconds from the start of the body to its end; `null` when it did not start. */
  readonly duration: number | null;
  /** What a handler of the host threw during this call. */
  readonly cause: unknown;
}

interface BlockedAs<Kind extends BlockKind, Error> extends Settled {
  outcome: "blocked";
  blockKind: Kind;
  error: Error;
  uncertain: null;
}

/** The tool settled with a result. */
export interface OkOutcome extends Settled {
  outcome: "ok";
  blockKind: null;
  error: null;
  uncertain: null;
}

/** Nothing happened. */
export type BlockedOutcome =
  | BlockedAs<"invalid_arguments", ErrorOf<"InvalidArgs">>
  | BlockedAs<"unavailable", ErrorOf<"Unavailable">>
  | BlockedAs<"denied", ErrorOf<"Denied">>;

/** The tool failed and no effect is in doubt. */
export interface ErrorOutcome extends Settled {
  outcome: "error";
  blockKind: null;
  error: Exclude<CallError, { kind: "InvalidArgs" | "Unavailable" | "Denied" | "Uncertain" }>;
  uncertain: null;
}

/** An effect may have happened and the library cannot tell. Never replayed; look first. */
export interface UncertainOutcome extends Settled {
  outcome: "uncertain";
  blockKind: null;
  error: ErrorOf<"Uncertain">;
  uncertain: Uncertainty;
}

/** How a call ended. There is always exactly one per call, in call order. */
export type Outcome = OkOutcome | BlockedOutcome | ErrorOutcome | UncertainOutcome;

/**
 * The durable part of a settled call, with what is commonly read from it. The additions are not enumerable: as JSON it is
 * the library's document.
 */
export function outcomeOf(part: Part, cause: unknown): Outcome {
  const metadata = part.metadata as Metadata;
  return Object.defineProperties({ ...part } as unknown as Outcome, {
    receipt: { value: receiptOf(metadata.verification) },
    writtenPaths: { value: metadata.writtenPaths ?? [] },
    diff: { value: typeof metadata.diff === "string" ? metadata.diff : null },
    duration: { value: durationOf(part) },
    cause: { value: cause },
  });
}

function receiptOf(found: Receipt | undefined): VerificationReceipt | null {
  if (found === undefined || found === null) return null;
  return Object.defineProperty({ ...found } as VerificationReceipt, "authority", { value: found.exitAuthority });
}

function durationOf({ timeStarted, timeCompleted }: Part): number | null {
  return timeStarted === null || timeCompleted === null ? null : timeCompleted - timeStarted;
}
