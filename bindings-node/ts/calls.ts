import type { CallInput } from "./generated/protocol.js";
import type { ToolArguments } from "./generated/tools.js";

/** A built-in tool. */
export type ToolName = keyof ToolArguments;

/** The arguments of a tool: those of a built-in one by name, an object or its JSON text for any other. */
export type ArgumentsOf<Name extends string> = Name extends ToolName ? ToolArguments[Name] : object | string;

/** One call of a model's message. */
export type Call = CallInput;

/** A call with its arguments checked against the tool's schema at compile time. */
export function call<Name extends string>(
  name: Name,
  args: ArgumentsOf<Name>,
  options: { readonly callId?: string } = {},
): Call {
  return { name, arguments: args, ...options };
}

/** What can be said about running calls, beside the calls. */
export interface CallOptions {
  /** Cancels the calls; the promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The message; a new one when it is left out. The same id again runs nothing and gives back what is stored. */
  readonly messageId?: string;
}

/** The further arguments of a tool, and what can be said about running it. */
export type OptionsOf<Name extends ToolName, Named extends string> = Omit<ToolArguments[Name], Named> & CallOptions;

/** Parts options into arguments of the tool and options of the call. */
export function split<Options extends CallOptions>(options: Options): [Omit<Options, keyof CallOptions>, CallOptions] {
  const { signal, messageId, ...args } = options;
  return [args, { ...(signal === undefined ? {} : { signal }), ...(messageId === undefined ? {} : { messageId }) }];
}
