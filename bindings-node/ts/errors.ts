import type { ErrorCodes } from "./generated/codes.js";
import type { Json } from "./generated/protocol.js";

/** A stable dotted code. Later versions may add some. */
export type ErrorCode = keyof ErrorCodes | (string & {});

/** Facts for programs that accompany an error. */
export type ErrorDetails = { readonly [key: string]: Json };

const BRAND = Symbol.for("zuno.ZunoError");

/**
 * An operation did not succeed. `code` is stable and dotted, such as `store.damaged`; the message says what to do next.
 *
 * `instanceof` holds across realms and across copies of the package.
 */
export class ZunoError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  override get name(): string {
    return "ZunoError";
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
    // Subclasses are classes of their own.
    return this === ZunoError || Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** The answer to whoever uses a runtime that has ended. */
export function closedError(): ZunoError {
  return new ZunoError("closed.object", "The runtime is closed. Open a new one.");
}

/** The error of an `op` item. */
export function fromDocument(document: unknown, cause?: unknown): ZunoError {
  const { code, message, details } = asRecord(document);
  const options = cause === undefined ? undefined : { cause };
  return new ZunoError(String(code), String(message), asRecord(details) as ErrorDetails, options);
}

/** An error of the addon: its message is the document of the core, or the text of a defect. */
export function fromNative(error: unknown): ZunoError {
  if (error instanceof ZunoError) return error;
  const text = error instanceof Error ? error.message : String(error);
  try {
    const document: unknown = JSON.parse(text);
    if (typeof asRecord(document)["code"] === "string") return fromDocument(document);
  } catch {
    // Not a document.
  }
  return new ZunoError("internal.panic", `A defect of the library ended this operation: ${text}`, {}, { cause: error });
}

/** An object, or an empty one in the place of anything else. */
export function asRecord(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}
