/**
 * The tool runtime that applications embed.
 *
 * `open` gives a `Runtime`; `runtime.session` a durable `Session` in a directory; its calls end with an `Outcome`.
 *
 * @packageDocumentation
 */
import "./polyfill.js";

export { type ArgumentsOf, type Call, type CallOptions, type OptionsOf, type ToolName, call } from "./calls.js";
export { type ErrorCode, type ErrorDetails, ZunoError } from "./errors.js";
export type { Event, EventData, EventOf, EventType } from "./events.js";
export type { AnthropicTool, McpTool, NativeTool, OpenAiTool, ToolFormats } from "./formats.js";
export type * as protocol from "./generated/protocol.js";
export type { Json, Part, PermissionRequest, SessionRecord, ToolInfo, Waiting } from "./generated/protocol.js";
export type { ToolArguments } from "./generated/tools.js";
export {
  type AfterCall,
  type AfterCallHandler,
  type ApprovalRequest,
  type ApproveHandler,
  type Awaitable,
  type BeforeCall,
  type BeforeCallHandler,
  type Command,
  type Decision,
  type EnvironmentAnswer,
  type EnvironmentHandler,
  type HandlerContext,
  type HookDecision,
  type ToolContext,
  ToolFailure,
  type ToolFailureOptions,
  type ToolHandler,
  type ToolOutput,
  type ToolSpec,
  allow,
  block,
  deny,
  rewrite,
} from "./host.js";
export type { CancelledItem, ClosedItem, EventItem, Item, OperationItem, RequestItem } from "./items.js";
export { type OpenOptions, open } from "./opening.js";
export type {
  BlockedOutcome,
  CallError,
  Conflict,
  ErrorOutcome,
  FileDiff,
  Metadata,
  OkOutcome,
  Outcome,
  UncertainOutcome,
  VerificationReceipt,
} from "./outcome.js";
export {
  type Answered,
  type Answers,
  type CommandOptions,
  Question,
  type QuestionInput,
  type QuestionItem,
  type QuestionView,
  Questions,
} from "./questions.js";
export {
  type MethodName,
  type ParamsOf,
  Permissions,
  type Registration,
  type ResultOf,
  type RunOptions,
  Runtime,
  type SessionOptions,
} from "./runtime.js";
export { Session } from "./session.js";
export { type EventOptions, EventStream } from "./stream.js";
