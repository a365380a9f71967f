import type { Concurrency, Effect, Json, Replay } from "./generated/protocol.js";

/** A tool with its declarations. */
export interface NativeTool {
  name: string;
  description: string;
  inputSchema: { [key: string]: Json };
  effect: Effect;
  replay: Replay;
  concurrency: Concurrency;
}

/** A function tool of the OpenAI chat form. */
export interface OpenAiTool {
  type: "function";
  function: { name: string; description: string; parameters: { [key: string]: Json } };
}

/** A tool of the Anthropic messages form. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: { type: "object"; [key: string]: Json };
}

/** A tool of the Model Context Protocol. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: { type: "object"; [key: string]: Json };
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
}

/** The form of `session.tools` by its name. */
export interface ToolFormats {
  native: NativeTool;
  openai: OpenAiTool;
  anthropic: AnthropicTool;
  mcp: McpTool;
}
