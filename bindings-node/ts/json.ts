import { ZunoError } from "./errors.js";

/** A document for the library. */
export function encode(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ZunoError("arguments.json", `The value cannot be written as JSON: ${describe(cause)}`, {}, { cause });
  }
  if (text === undefined) throw new ZunoError("arguments.json", `${show(value)} cannot be written as JSON.`);
  return text;
}

/** What somebody threw, as a sentence. */
export function describe(error: unknown): string {
  try {
    return error instanceof Error ? error.message || error.name : String(error);
  } catch {
    return "something that cannot be shown";
  }
}

/** A value in a message. */
export function show(value: unknown): string {
  try {
    const text = typeof value === "function" ? "a function" : JSON.stringify(value);
    if (text === undefined) return String(value);
    return text.length > 120 ? `${text.slice(0, 120)}...` : text;
  } catch {
    return typeof value;
  }
}

/** The same object without the fields that are `undefined`. */
export function given<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
