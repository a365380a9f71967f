import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { ZunoError } from "./errors.js";

/** An open runtime as the addon shows it. */
export interface NativeHandle {
  call(method: string, params: string): string;
  start(method: string, params: string): number;
  cancel(op: number): boolean;
  respond(request: string, answer: string): boolean;
  fail(request: string, code: string, message: string): boolean;
  drain(max: number): string[];
  hold(on: boolean): void;
  close(deadlineMs: number): void;
  closeNow(): void;
  free(): void;
}

interface Addon {
  open(options: string, wake: () => void): Promise<NativeHandle>;
}

let loaded: Addon | undefined;

/** The addon, loaded when it is first needed. */
export function addon(): Addon {
  loaded ??= load();
  return loaded;
}

/** `linux-x64-gnu` and the like. */
export function platformName(): string {
  const base = `${process.platform}-${process.arch}`;
  return process.platform === "linux" ? `${base}-${usesGlibc() ? "gnu" : "musl"}` : base;
}

function usesGlibc(): boolean {
  const report = process.report?.getReport() as unknown as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime !== undefined;
}

function load(): Addon {
  const require = createRequire(__filename);
  const name = platformName();
  const beside = path.join(__dirname, "..", `zuno.${name}.node`);
  try {
    return require(existsSync(beside) ? beside : `@zuno/${name}`) as Addon;
  } catch (cause) {
    const text =
      `The native part of zuno for ${name} could not be loaded. ` +
      "Install the package again without leaving out optional dependencies, or build it from source with `make node`.";
    throw new ZunoError("unavailable.feature", text, { platform: name }, { cause });
  }
}
