import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { asRecord } from "./errors.js";

const run = promisify(execFile);

/** The oldest major version that glob and grep drive. */
const OLDEST = 14;

/** Whether a configuration document names a ripgrep. */
export function namesRipgrep(config: unknown): boolean {
  return asRecord(asRecord(config)["search"])["ripgrep_path"] != null;
}

/** The same document with a path to ripgrep. */
export function withRipgrep(config: object | undefined, program: string): object {
  const before = asRecord(config);
  return { ...before, search: { ...asRecord(before["search"]), ripgrep_path: program } };
}

/** The `rg` that the optional package `@vscode/ripgrep` brought; `undefined` when `PATH` has one to work with. */
export async function packagedRipgrep(): Promise<string | undefined> {
  const packaged = await fromPackage();
  if (packaged === undefined || (await usable(await onPath(), packaged))) return undefined;
  return packaged;
}

async function fromPackage(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    // Inside an archive of Electron nothing can be run; its unpacked copy can.
    const program = rgPath.replace(/\bapp\.asar\b(?!\.unpacked)/, "app.asar.unpacked");
    return (await isProgram(program)) ? program : undefined;
  } catch {
    return undefined;
  }
}

async function onPath(): Promise<string | undefined> {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  for (const directory of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const program = path.join(directory, name);
    if (path.isAbsolute(directory) && (await isProgram(program))) return program;
  }
  return undefined;
}

async function usable(found: string | undefined, packaged: string): Promise<boolean> {
  if (found === undefined) return false;
  try {
    if ((await realpath(found)) === (await realpath(packaged))) return true;
    const { stdout } = await run(found, ["--version"], { timeout: 5000 });
    const version = /^ripgrep (\d+)/.exec(stdout);
    return version !== null && Number(version[1]) >= OLDEST;
  } catch {
    return false;
  }
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
