import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { type OpenOptions, type Outcome, type Runtime, type Session, allow, open } from "zuno";

/** The package. */
export const PACKAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Shell calls run without a confinement that this machine may not offer. */
export const CONFIG = { sandbox: { onUnavailable: "run-unconfined" } } as const;

/** An empty folder that is gone after the test. */
export function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), "zuno-node-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** An open runtime with a session in an empty folder; closed after the test. */
export async function bench(
  t: TestContext,
  options: OpenOptions = {},
): Promise<{ runtime: Runtime; session: Session; workspace: string }> {
  const workspace = folder(t);
  const runtime = await open({ store: ":memory:", approve: () => allow.once(), config: CONFIG, ...options });
  t.after(() => runtime.close());
  return { runtime, session: await runtime.session({ directory: workspace }), workspace };
}

/** The error of a blocked call; fails the test otherwise. */
export function denialOf(outcome: Outcome): { origin: string; reason: string } {
  if (outcome.outcome !== "blocked" || outcome.blockKind !== "denied") {
    throw new Error(`not denied: ${outcome.outcome}: ${outcome.output}`);
  }
  return outcome.error.denial;
}

/** How a child process ended, and what it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running fixture. */
export interface Fixture {
  readonly child: ChildProcess;
  /** Resolves when it has written a line that starts with the word; gives the rest of the line. */
  line(word: string): Promise<string>;
  readonly ended: Promise<Ended>;
}

/** Starts a program of `fixtures/` with a time limit that is a failure, not a measure. */
export function start(name: string, args: readonly string[] = [], nodeOptions: readonly string[] = []): Fixture {
  const program = fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  let stdout = "";
  let stderr = "";
  const waiting = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, stdout, stderr });
    });
  });
  const line = (word: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = stdout.split("\n").find((text, index, all) => index < all.length - 1 && text.startsWith(word));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found.slice(word.length).trim());
      };
      waiting.add(look);
      look();
      void ended.then((end) => reject(new Error(`ended before "${word}": ${JSON.stringify(end)}`)));
    });
  return { child, line, ended };
}

/** Runs a program of `fixtures/` to its end. */
export function run(name: string, args: readonly string[] = [], nodeOptions: readonly string[] = []): Promise<Ended> {
  return start(name, args, nodeOptions).ended;
}

/** A promise that is settled from outside. */
export function later<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
