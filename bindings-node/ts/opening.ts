import { Engine } from "./engine.js";
import { ZunoError, asRecord } from "./errors.js";
import type { Port } from "./generated/protocol.js";
import { Handlers } from "./handlers.js";
import type { ApproveHandler, EnvironmentHandler } from "./host.js";
import { encode, given } from "./json.js";
import { namesRipgrep, packagedRipgrep, withRipgrep } from "./ripgrep.js";
import { Runtime } from "./runtime.js";

/** How to open a runtime. */
export interface OpenOptions {
  /** A path whose folder exists, or `":memory:"`; default below the user's state folder. */
  readonly store?: string;
  /** Decides what the rules leave to a person; without it such calls are denied. */
  readonly approve?: ApproveHandler;
  /** Has the last word on what a command sees. */
  readonly environment?: EnvironmentHandler;
  /** The configuration document. */
  readonly config?: object;
  /** Further requests, which then come out of `runtime.next`. */
  readonly ports?: readonly Port[];
  /** Read the global configuration file; default false. */
  readonly readGlobal?: boolean;
  /** Read the configuration variables of the environment; default false. */
  readonly readEnvironment?: boolean;
  /** Read the project file of each session's worktree; default false. */
  readonly readProject?: boolean;
}

/** Opens a runtime. Close it, or hold it with `await using`. */
export async function open(options: OpenOptions = {}): Promise<Runtime> {
  const {
    store: database,
    approve,
    environment,
    config: _,
    ports = [],
    readGlobal,
    readEnvironment,
    readProject,
    ...others
  } = options;
  checkNames(others);
  checkHandlers({ approve, environment });
  const handlers = new Handlers(approve, environment);
  const reads = given({ readGlobal, readEnvironment, readProject });
  const config = await configure(options);
  const document = given({ database, config, ports: handlers.ports(ports), ...reads });
  return new Runtime(await Engine.open(encode(document), handlers, new Set<string>(ports)));
}

/** A misspelt option would otherwise open another store, or deny what a handler was meant to decide. */
function checkNames(others: object): void {
  const [name] = Object.keys(others);
  if (name === undefined) return;
  const known = "store, approve, environment, config, ports, readGlobal, readEnvironment, readProject";
  throw new ZunoError("arguments.unknown_field", `\`open\` has no option \`${name}\`. It takes ${known}.`, {
    field: name,
  });
}

function checkHandlers(handlers: { readonly [name: string]: unknown }): void {
  for (const [name, handler] of Object.entries(handlers)) {
    if (handler === undefined || typeof handler === "function") continue;
    throw new ZunoError("arguments.invalid", `\`${name}\` of \`open\` has to be a function.`, { field: name });
  }
}

/** The host's configuration; when no layer names a ripgrep and `PATH` has none, with the one an optional package brought. */
async function configure(options: OpenOptions): Promise<object | undefined> {
  const { config } = options;
  if (namesRipgrep(config)) return config;
  const program = await packagedRipgrep();
  if (program === undefined || (await otherLayersNameOne(options))) return config;
  return withRipgrep(config, program);
}

/** The host's document would win over the files, so they are asked first, through a runtime that touches no store. */
async function otherLayersNameOne({ config, readGlobal, readEnvironment }: OpenOptions): Promise<boolean> {
  if (!readGlobal && !readEnvironment) return false;
  const document = encode(given({ database: ":memory:", config, readGlobal, readEnvironment }));
  const probe = await Engine.open(document, new Handlers(undefined, undefined), new Set());
  try {
    return namesRipgrep(asRecord(probe.now("runtime.config", {}))["values"]);
  } finally {
    await probe.close(1000);
  }
}
