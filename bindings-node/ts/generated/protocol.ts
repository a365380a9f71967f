// Generated from schema/ by scripts/generate-types.mjs. Do not edit.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** No parameters. */
export type Nothing = Record<string, never>;

/** `runtime.waiting` */
export interface WaitingList {
  /** The rows. */
  waiting: Waiting[];
}

/** One thing that waits for a person. */
export interface Waiting {
  /** `permission`, `question`, `required_input`, `plan_approval` or `goal_resume`. */
  kind: string;
  /** Its id. */
  id: string;
  /** Where it belongs. */
  sessionId: SessionId;
  /** Since when. */
  since: number;
}

/** A session. */
export type SessionId = string;

/** What `tool.register` takes. */
export interface HostToolSpec {
  /** `[A-Za-z][A-Za-z0-9_-]{0,63}` */
  readonly name: string;
  /** What the model is told. */
  readonly description: string;
  /** Object schema, draft 2020-12 or draft 7, at most 256 KiB, local references only. */
  readonly inputSchema: unknown;
  /** Default: `SideEffecting`. */
  readonly effect?: Effect;
  /** Default: `Never`. */
  readonly replay?: Replay;
  /** Default: `Exclusive`. */
  readonly concurrency?: Concurrency;
  /** Effect by one string argument; an absent or unlisted value is `SideEffecting`. */
  readonly effectByArgument?: EffectByArgument | null;
  /** Default: the name, pattern `*`. */
  readonly permission?: HostPermission | null;
  /** 1..=1 800 000; default 120 000. */
  readonly timeoutMs?: number;
  /** Default: shown. */
  readonly surface?: Surface;
  /** Take the place of a tool of the same name. */
  readonly replace?: boolean;
}

/** What a call may change. */
export type Effect = "ReadOnly" | "UserMediated" | "Delegating" | "SideEffecting";

/** Whether a failed call may be attempted again. */
export type Replay = "Never" | "Safe";

/** Whether a call may overlap with others. */
export type Concurrency = "Exclusive" | "ParallelSafe" | "IsolatedBackground";

/** The per-call classifier of a host tool. */
export interface EffectByArgument {
  /** A top-level string argument. */
  readonly argument: string;
  /** Its values. */
  readonly map: { [key: string]: Effect };
}

/** What a host tool is judged by. */
export interface HostPermission {
  /** The permission key. */
  readonly key: string;
  /** The argument whose value is the pattern. */
  readonly patternArgument?: string | null;
}

/** Whether a tool is shown by itself. */
export type Surface = "default" | "slot";

/** `tool.register` */
export interface RegisteredName {
  /** The rows. */
  name: string;
}

/** `tool.unregister` */
export interface Named {
  /** The tool. */
  readonly name: string;
}

/** Whether something was there and has been removed. */
export interface Removed {
  /** The rows. */
  removed: boolean;
}

/** `tool.list` */
export interface Tools {
  /** The rows. */
  tools: ToolInfo[];
}

/** One row of `tool.list`. */
export interface ToolInfo {
  /** The name models call. */
  name: string;
  /** What the model is told. */
  description: string;
  /** The published schema, common arguments included. */
  inputSchema: Json;
  /** What a call may change. */
  effect: Effect;
  /** Whether it may be attempted again. */
  replay: Replay;
  /** Whether it may overlap. */
  concurrency: Concurrency;
  /** Whether it is shown by itself. */
  surface: Surface;
  /** Who brought it. */
  origin: ToolOrigin;
}

/** Who brought a tool. */
export type ToolOrigin = "builtin" | "host";

/** What `hook.register` takes. */
export interface HookSpec {
  /** When it runs. */
  readonly hook: HookKind;
  /** Only for these tools; empty = all. */
  readonly tools?: readonly string[];
}

/** When a hook runs. */
export type HookKind = "beforeCall" | "afterCall";

/** `hook.register` */
export interface HookId {
  /** The rows. */
  hookId: string;
}

/** `hook.unregister` */
export interface HookRef {
  /** The hook. */
  readonly hookId: string;
}

/** `session.create` */
export interface CreateParams {
  /** The workspace: an existing directory. */
  readonly directory: string;
  /** The agent; default `default_agent` of the configuration, else `orchestrator`. */
  readonly agent?: string | null;
  /** Default `work`. */
  readonly mode?: SessionMode | null;
  /** For a list of sessions. */
  readonly title?: string | null;
  /** Shows plan, todo and goal tools; default true. */
  readonly workState?: boolean | null;
  /** Questions reach a person; default true. */
  readonly humanSurface?: boolean | null;
  /** The tool composition. */
  readonly profile?: Profile | null;
  /** Configuration on top of the runtime's. */
  readonly config?: unknown;
}

/** How a session works. */
export type SessionMode = "plan" | "work";

/** `profile` of `session.create`. */
export interface Profile {
  /** Which tools. */
  readonly tools?: ProfileTools;
}

/** The tool composition of a profile. */
export interface ProfileTools {
  /** Registered slots and host tools that are shown too. */
  readonly include?: readonly string[];
  /** Tools that are not shown. */
  readonly exclude?: readonly string[];
}

/** The session record every face shows. */
export interface SessionRecord {
  /** Its id. */
  id: SessionId;
  /** The workspace: canonical, absolute. */
  directory: string;
  /** Root of the Git work tree that holds it, or the workspace. */
  worktree: string;
  /** The session that delegated to it. */
  parentId: SessionId | null;
  /** The agent. */
  agent: string;
  /** Plan or work. */
  mode: SessionMode;
  /** For a list of sessions. */
  title: string;
  /** Active, closed or archived. */
  state: SessionState;
  /** When it was created. */
  timeCreated: number;
  /** When it last changed. */
  timeUpdated: number;
}

/** What a session is doing in the world. */
export type SessionState = "active" | "closed" | "archived";

/** A session. */
export interface OfSession {
  /** The session. */
  readonly sessionId: SessionId;
}

/** `session.list` */
export interface ListSessions {
  /** Only the children of this session. */
  readonly parentId?: SessionId | null;
}

/** `session.list` */
export interface Sessions {
  /** The rows. */
  sessions: SessionRecord[];
}

/** `session.tools` */
export interface ToolsOf {
  /** The session. */
  readonly sessionId: SessionId;
  /** Whose form. */
  readonly format?: ToolFormat;
}

/** Whose form. */
export type ToolFormat = "native" | "openai" | "anthropic" | "mcp";

/** `session.tools` */
export interface SessionTools {
  /** The rows. */
  tools: Json[];
}

/** `session.dispatch` */
export interface Dispatch {
  /** The session. */
  readonly sessionId: SessionId;
  /** The message; a new one when it is left out. The same id again gives back what is stored. */
  readonly messageId?: MessageId | null;
  /** The calls, in order. */
  readonly calls?: readonly CallInput[];
  /** Ends the turn. */
  readonly final?: boolean;
}

/** An assistant message: one group of calls a model or a host issued together. */
export type MessageId = string;

/** One call of a message as a host or a model gives it. */
export interface CallInput {
  /** Its id inside the message; `call_1`, `call_2`, ... when it has none. */
  readonly callId?: string | null;
  /** The tool. */
  readonly name: string;
  /** An object, or a text that holds one. */
  readonly arguments?: unknown;
}

/** What a dispatch answers. */
export interface DispatchResult {
  /** The message the calls belong to. */
  messageId: MessageId;
  /** The turn; `null` when an empty dispatch ended none. */
  turnId: TurnId | null;
  /** The work cycle. */
  cycleId: CycleId | null;
  /** The step inside the turn. */
  step: number;
  /** One result per call, in call order. */
  results: Part[];
}

/** One drive from start to a terminal outcome. */
export type TurnId = string;

/** Work scope shared by a user input and its continuations. */
export type CycleId = string;

/** The durable part of a call. Absent values are `null` and never left out. */
export interface Part {
  /** Where it belongs. */
  sessionId: SessionId;
  /** The message it was part of. */
  messageId: MessageId;
  /** Its id inside the message. */
  callId: CallId;
  /** The turn. */
  turnId: TurnId;
  /** The work cycle. */
  cycleId: CycleId;
  /** The step inside the turn, from 1. */
  step: number;
  /** The tool's name as called. */
  tool: string;
  /** The arguments exactly as sent. */
  arguments: Json;
  /** The arguments after a hook rewrote them. */
  effectiveArguments: Json;
  /** Label for the user interface. */
  intent: string | null;
  /** The effect that applied to this call. */
  effect: Effect;
  /** The replay policy that applied. */
  replay: Replay;
  /** The concurrency policy that applied. */
  concurrency: Concurrency;
  /** How far it has come. */
  state: CallState;
  /** How it ended. */
  outcome: Outcome | null;
  /** Why nothing happened. */
  blockKind: BlockKind | null;
  /** One line for a transcript. */
  title: string;
  /** What the model reads. */
  output: string;
  /** Typed facts; keys that do not apply are left out. */
  metadata: { [key: string]: Json };
  /** Files that accompany the result. */
  attachments: Attachment[];
  /** The typed error. */
  error: ToolError | null;
  /** What is known about an effect in doubt. */
  uncertain: Uncertainty | null;
  /** What the engine does next. */
  continuation: Continuation;
  /** When it was recorded. */
  timeCreated: number;
  /** When it was stamped. */
  dispatchedAt: number | null;
  /** When its body started. */
  timeStarted: number | null;
  /** When it ended. */
  timeCompleted: number | null;
}

/** One tool invocation; given by the provider or the host, unique inside its message. */
export type CallId = string;

/** How far a call has come. */
export type CallState = "pending" | "dispatched" | "settled";

/** The four ends of a call. */
export type Outcome = "ok" | "blocked" | "error" | "uncertain";

/** Why nothing happened. */
export type BlockKind = "invalid_arguments" | "unavailable" | "denied";

/** A file that accompanies a result. */
export interface Attachment {
  /** Always `file`. */
  type: string;
  /** Media type. */
  mime: string;
  /** Name for display. */
  filename: string | null;
  /** A `data:` or `file://` URL. */
  url: string;
}

/** A typed error of a tool call: kind, stable code, message. */
export type ToolError = {
  /** Stable lower-case word. */
  code: string;
  /** A sentence that says what to do next. */
  message: string;
} & (
  | {
    kind: "InvalidArgs";
    /** The field at fault. */
    field: string | null;
    /** The nearest known field or value. */
    suggestion: string | null;
  }
  | {
    kind: "Unavailable";
    /** What is missing. */
    reason: string;
  }
  | {
    kind: "Denied";
    /** Who refused what. */
    denial: Denial;
  }
  | {
    kind: "MutationConflict";
    /** The conflict record. */
    conflict: Json;
  }
  | {
    kind: "Timeout";
    /** Milliseconds until it was given up. */
    elapsedMs: number;
  }
  | {
    kind: "NetworkTimeout";
    /** Direct or through which proxy. */
    route: string;
    /** The phase that did not end. */
    phase: string;
    /** Milliseconds until it was given up. */
    elapsedMs: number;
  }
  | {
    kind: "Transient";
    /** When another attempt makes sense, in milliseconds. */
    retryAfterMs: number | null;
  }
  | {
    kind: "Cancelled";
    /** Whether the body had started. */
    started: boolean;
  }
  | {
    kind: "Failed";
  }
  | {
    kind: "Uncertain";
    /** Paths seen to have changed. */
    appliedPaths: string[];
    /** Why nothing better can be said. */
    cause: string;
  }
);

/** Why a call was denied. */
export interface Denial {
  /** Who said no. */
  origin: DenialOrigin;
  /** The permission key that was judged. */
  key: string;
  /** The resource that was refused. */
  pattern: string | null;
  /** The rule that decided, as written. */
  rule: string | null;
  /** A sentence for the model. */
  reason: string;
}

/** Who said no. */
export type DenialOrigin =
  | "rule"
  | "user"
  | "no_handler"
  | "risk_gate"
  | "plan_mode"
  | "hook"
  | "protected_path"
  | "agent"
  | "preflight";

/** What is known about an effect in doubt. */
export interface Uncertainty {
  /** The tool. */
  tool: string;
  /** The call. */
  callId: CallId;
  /** Paths seen to have changed. */
  appliedPaths: string[];
  /** Why nothing better can be said. */
  cause: string;
  /** When that was found. */
  observedAt: number;
  /** When a person or program looked and said what happened. */
  reconciledAt: number | null;
}

/** What the engine does after a result; never shown to the model. */
export type Continuation = "continue" | "yieldUntilInput" | "waitingForHuman";

/** `session.interrupt` */
export interface Interrupt {
  /** The session. */
  readonly sessionId: SessionId;
  /** Who stops it. */
  readonly reason?: InterruptReason | null;
}

/** Who stops a session. */
export type InterruptReason = "user_cancel" | "request_cancelled" | "shutdown" | "session_close";

/** `session.interrupt` */
export interface Interrupted {
  /** The rows. */
  interrupted: boolean;
}

/** `session.messages` */
export interface MessagesOf {
  /** The session. */
  readonly sessionId: SessionId;
  /** Messages after this ordinal. */
  readonly after?: number | null;
  /** At most 500. */
  readonly limit?: number | null;
}

/** `session.messages` */
export interface Messages {
  /** The rows. */
  messages: Message[];
}

/** A message with its calls. */
export interface Message {
  /** Its id. */
  id: MessageId;
  /** Where it belongs. */
  sessionId: SessionId;
  /** Its number in the session, from 1. */
  ordinal: number;
  /** The turn. */
  turnId: TurnId;
  /** The cycle. */
  cycleId: CycleId;
  /** The step inside the turn. */
  step: number;
  /** When it was recorded. */
  timeCreated: number;
  /** Its calls, in call order. */
  parts: Part[];
}

/** `session.unsettled` */
export interface Calls {
  /** The rows. */
  calls: Part[];
}

/** `session.reconcile` */
export interface ReconcileParams {
  /** The session. */
  readonly sessionId: SessionId;
  /** The call. */
  readonly callId: CallId;
  /** Its message; needed when several open calls have that id. */
  readonly messageId?: MessageId | null;
  /** What a look at the authoritative state showed. */
  readonly verdict: ReconcileVerdict;
  /** What was looked at. */
  readonly evidence?: string;
}

/** What a look at the authoritative state showed. */
export type ReconcileVerdict = "happened" | "did_not_happen" | "partly";

/** `session.delete` */
export interface Delete {
  /** The session. */
  readonly sessionId: SessionId;
  /** Has to be true: it cannot be taken back. */
  readonly confirm: boolean;
}

/** `session.delete` */
export interface Deleted {
  /** The rows. */
  deleted: boolean;
}

/** A session that may be left out. */
export interface MaybeSession {
  /** Only this session. */
  readonly sessionId?: SessionId | null;
}

/** `permission.list` */
export interface Requests {
  /** The rows. */
  requests: PermissionRequest[];
}

/** One request to a person. At most one per call. */
export interface PermissionRequest {
  /** Its id. */
  id: PermissionId;
  /** The session whose call it is. */
  sessionId: SessionId;
  /** The root of the session tree. */
  rootSessionId: SessionId;
  /** The active agent. */
  agent: string;
  /** The turn. */
  turnId: TurnId;
  /** The message. */
  messageId: MessageId;
  /** The call. */
  callId: CallId;
  /** The tool as called. */
  tool: string;
  /** Label the model gave for the user interface. */
  intent: string | null;
  /** Why a person is asked. */
  kind: RequestKind;
  /** What is judged, in the order `external_directory`, the tool's key, `git_metadata`. */
  asks: Ask[];
  /** What may be answered. */
  choices: Reply[];
  /** What the call would do: a diff, commands, or the arguments. */
  preview: Json;
  /** Facts of the tool. */
  metadata: { [key: string]: Json };
  /** How far it has come. */
  state: RequestState;
  /** When it was asked. */
  timeCreated: number;
  /** When it ended. */
  timeSettled: number | null;
}

/** A permission request. */
export type PermissionId = string;

/** Why a person is asked; the strictest reason that applies. */
export type RequestKind = "rule" | "risk" | "strict";

/** One key with the patterns that are judged under it. */
export interface Ask {
  /** The permission key. */
  key: string;
  /** The resources, as named. Every one is judged; the strictest answer counts. */
  patterns: string[];
  /** Patterns an `always` reply would allow; empty = not offered. */
  always: string[];
  /** What an outside directory is wanted for; only with `external_directory`. */
  access: Access | null;
}

/** What an outside directory is wanted for. */
export type Access = "read" | "write";

/** What a person may answer. */
export type Reply = "once" | "always" | "reject";

/** How far a request has come; everything but `pending` is final. */
export type RequestState = "pending" | "once" | "always" | "rejected" | "cancelled";

/** `permission.reply` */
export interface PermissionReply {
  /** The request. */
  readonly requestId: PermissionId;
  /** The answer. */
  readonly reply: Reply;
  /** Given to the model with a rejection. */
  readonly message?: string | null;
}

/** `permission.grants` */
export interface Grants {
  /** The rows. */
  grants: Grant[];
}

/** A pattern a person allowed for one session. */
export interface Grant {
  /** The permission key, literal. */
  key: string;
  /** The pattern over resources. `~` is literal: what a person saw was a file of that name. */
  pattern: string;
  /** What an outside directory was wanted for; leave to read is no leave to write. */
  access: Access | null;
}

/** `question.publish` */
export interface PublishParams {
  /** The session the question belongs to. */
  readonly sessionId: SessionId;
  /** Whether something waits for the first response; only deferred questions defer themselves. */
  readonly mode: QuestionMode;
  /** `clarification`: the other purposes belong to their own controls. */
  readonly purpose: Purpose;
  /** 1 to 8 items. */
  readonly questions: readonly NewItem[];
  /** Only labels are accepted as answers. */
  readonly closed?: boolean;
}

/** Whether a call waits for the first response. */
export type QuestionMode = "blocking" | "deferred";

/** What an answer is for. */
export type Purpose = "clarification" | "required_input" | "plan_authorization" | "goal_resume";

/** One item as it is published. */
export interface NewItem {
  /** The question. */
  readonly question: string;
  /** A short heading. */
  readonly header: string;
  /** Choices, the recommended one first. */
  readonly options?: readonly Choice[];
  /** More than one value may be given. */
  readonly multiple?: boolean;
}

/** One choice of an item. */
export interface Choice {
  /** The value an answer gives. Unique inside its item. */
  label: string;
  /** What choosing it means. */
  description: string | null;
}

/** A question as every surface shows it. */
export interface Question {
  /** Its id, stable across restarts. */
  id: QuestionId;
  /** Where it came from. */
  origin: QuestionOrigin;
  /** Raised by every accepted command but snooze, and by the auto-defer. */
  revision: number;
  /** Whether a call waits. */
  mode: QuestionMode;
  /** What an answer is for. */
  purpose: Purpose;
  /** How far it has come. */
  state: QuestionState;
  /** Its items. */
  questions: Item[];
  /** Submitted answers. */
  answers: { [key: string]: string[] };
  /** Drafts; nobody acts on them. */
  draftAnswers: { [key: string]: string[] };
  /** The clock of an optional clarification. */
  autoDefer: AutoDefer | null;
  /** The Goal revision that was observed. */
  goalRevision: number | null;
  /** The Plan that is approved. */
  plan: Json;
  /** What was decided about it. */
  decision: Decision | null;
  /** What became of that decision. */
  authorization: Authorization | null;
  /** How far the answers have come. */
  delivery: Delivery;
  /** When it was published. */
  timeCreated: number;
  /** When it last changed. */
  timeUpdated: number;
}

/** A question request. */
export type QuestionId = string;

/** Where a question came from. */
export interface QuestionOrigin {
  /** The session. */
  sessionId: SessionId;
  /** The message whose call asked. */
  messageId: MessageId | null;
  /** The call that asked. */
  callId: CallId | null;
  /** The turn of that call. */
  turnId: TurnId | null;
  /** The Goal that needs the answer. */
  goalId: string | null;
}

/** How far a question has come. Everything but `pending` is final. */
export type QuestionState = "pending" | "answered" | "skipped" | "cancelled" | "failed";

/** One item of a question. */
export interface Item {
  /** `q1`, `q2`, ... */
  id: string;
  /** The question. */
  question: string;
  /** A short heading. */
  header: string;
  /** Choices. */
  options: Choice[];
  /** More than one value may be given. */
  multiple: boolean;
  /** A typed value is accepted beside the labels. */
  custom: boolean;
}

/** The clock of an optional clarification. */
export interface AutoDefer {
  /** When the form defers itself. */
  deadlineAt: number;
  /** From when on a countdown is shown. */
  countdownAt: number;
  /** What became of the clock. */
  state: AutoDeferState;
}

/** What became of the clock. */
export type AutoDeferState = "armed" | "snoozed" | "deferred";

/** What a person decided about a Plan. */
export type Decision = "approve" | "decline";

/** What became of an approval. */
export type Authorization = "waiting_for_handoff" | "applied" | "invalidated";

/** Derived from the inbox, never stored. */
export interface Delivery {
  /** How far the answers have come. */
  phase: DeliveryPhase;
  /** Inputs of this question that are not delivered. */
  pendingInputs: number;
  /** Inputs of this question that are part of the conversation. */
  appliedInputs: number;
  /** The newest input. */
  lastInputId: InputId | null;
  /** How far that one has come. */
  lastInputState: InputState | null;
  /** When the last input was applied. */
  appliedAt: number | null;
}

/** How far the answers have come. */
export type DeliveryPhase = "waiting_answer" | "answered_pending_delivery" | "applied";

/** One durable inbox row. */
export type InputId = string;

/** How far an input has come. */
export type InputState =
  | "admitting"
  | "queued"
  | "steering"
  | "promoted"
  | "consumed"
  | "cancelled"
  | "failed"
  | "superseded";

/** `question.list` */
export interface ListQuestions {
  /** Only this session. */
  readonly sessionId?: SessionId | null;
  /** Default: pending ones. */
  readonly state?: QuestionState | null;
}

/** `question.list` */
export interface Questions {
  /** The rows. */
  questions: Question[];
}

/** `question.get` */
export interface QuestionRef {
  /** The request. */
  readonly requestId: QuestionId;
}

/** One command of a person, or of a surface on behalf of one. */
export interface Command {
  /** The question. */
  readonly requestId: QuestionId;
  /** Chosen by the sender; sending it again changes nothing. */
  readonly commandId: string;
  /** The revision the person saw. */
  readonly expectedRevision: number;
  /** What is done. */
  readonly action: Action;
}

/** What a person does with a question. */
export type Action =
  | {
    readonly type: "answer";
    /** Values by item id. */
    readonly answers: { [key: string]: readonly string[] };
  }
  | {
    readonly type: "defer";
    /** Drafts to keep. */
    readonly draftAnswers?: { [key: string]: readonly string[] } | null;
  }
  | {
    readonly type: "skip";
  }
  | {
    readonly type: "cancel";
  }
  | {
    readonly type: "plan_decision";
    /** The decision. */
    readonly decision: Decision;
    /** Why a draft review is acceptable. */
    readonly riskReason?: string | null;
  }
  | {
    readonly type: "snooze";
    /** Drafts to keep. */
    readonly draftAnswers?: { [key: string]: readonly string[] } | null;
  };

/** What became of a command. */
export interface CommandReceipt {
  /** The question after the command. */
  question: Question;
  /** The input the command caused. */
  inputId: InputId | null;
  /** The command was known; this is the receipt it got then. */
  duplicate: boolean;
}

/** `question.wait` */
export interface WaitQuestion {
  /** The request. */
  readonly requestId: QuestionId;
  /** Returns when the revision is past this one. */
  readonly afterRevision: number;
  /** Milliseconds; without it the wait has no end. */
  readonly timeoutMs?: number | null;
}

/** What a wait ended with. */
export interface Waited {
  /** The question now. */
  question: Question;
  /** Its revision is past the one that was waited on; false when time ran out, or nothing can follow. */
  changed: boolean;
}

/** `artifact.read` */
export interface ReadArtifact {
  /** The session whose call produced it. */
  readonly sessionId: SessionId;
  /** The artifact. */
  readonly outputPath: string;
  /** Absolute byte offset; default 0. */
  readonly cursor?: number | null;
  /** Window size in bytes; default 16384, at most 1 MiB. */
  readonly limit?: number | null;
}

/** `receipt.get` */
export interface ReceiptRef {
  /** The session it belongs to. */
  readonly sessionId: SessionId;
  /** `rcp_...` */
  readonly receiptId: ReceiptId;
}

/** A verification receipt of a shell command. */
export type ReceiptId = string;

/** A verification receipt. Absent values are `null` and never left out. */
export interface VerificationReceipt {
  /** Its id. */
  id: ReceiptId;
  /** The session it belongs to. */
  sessionId: SessionId;
  /** The turn. */
  turnId: TurnId | null;
  /** The call. */
  callId: CallId;
  /** The tool as called. */
  tool: string;
  /** What ran, folded to one line. */
  summary: string;
  /** Where it ran. */
  workdir: string;
  /** What ran it. */
  interpreter: string;
  /** How failures inside of it counted. */
  exitPolicy: string;
  /** What it decided. */
  outcome: VerificationOutcome;
  /** The exit code. */
  exitCode: number | null;
  /** The signal that ended it. */
  signal: string | null;
  /** How far the code reaches. */
  exitAuthority: ExitAuthority;
  /** Why it does not reach further. */
  limitation: Limitation | null;
  /** Why there is no verdict. */
  detail: string | null;
  /** HEAD, when the call resolved it. */
  gitHead: string | null;
  /** SHA-256 of the bytes the command wrote. */
  outputDigest: string;
  /** When it was recorded. */
  timeCreated: number;
}

/** What a command decided. */
export type VerificationOutcome = "passed" | "failed" | "unknown";

/** How far an exit code reaches. */
export type ExitAuthority = "authoritative" | "derived" | "absent";

/** Why an exit status does not stand for the whole text. */
export interface Limitation {
  /** Stable word. */
  code: string;
  /** What in the text, or about the interpreter, limits it. */
  construct: string;
  /** What to do instead. */
  remedy: string;
}

/** `event.subscribe` */
export interface Subscribe {
  /** Only this session. */
  readonly sessionId?: SessionId | null;
  /** Only the tree below this root. */
  readonly rootSessionId?: SessionId | null;
  /** First the stored events after this number; needs `sessionId`. */
  readonly after?: number | null;
  /** Live events too; default true. */
  readonly live?: boolean | null;
  /** Only these types. */
  readonly types?: readonly string[];
}

/** `event.subscribe` */
export interface SubscriptionId {
  /** The rows. */
  subscriptionId: number;
}

/** `event.unsubscribe` */
export interface SubscriptionRef {
  /** The subscription. */
  readonly subscriptionId: number;
}

/** `event.read` */
export interface ReadEvents {
  /** The session. */
  readonly sessionId: SessionId;
  /** Events after this number. */
  readonly after: number;
  /** At most 1000. */
  readonly limit?: number | null;
}

/** `event.read` */
export interface EventPage {
  /** The events, in order. */
  events: Event[];
  /** The number of the session's last event. */
  last: number;
}

/** One event as every face shows it. */
export interface Event {
  /** Stable id; a replayed event has the same one. */
  id: EventId;
  /** The type, such as `tool.dispatch.started`. */
  type: string;
  /** The session it belongs to. */
  sessionId: SessionId;
  /** Number of this durable event, or of the last durable event before a live one. */
  seq: number;
  /** Stored and readable again. */
  durable: boolean;
  /** When the fact was made. */
  time: number;
  /** The turn, when one applies. */
  turnId: TurnId | null;
  /** The work cycle, when one applies. */
  cycleId: CycleId | null;
  /** The root of the session tree. */
  rootSessionId: SessionId | null;
  /** The fields of the type. Readers ignore fields they do not know. */
  data: Json;
}

/** A durable event. */
export type EventId = string;

/** `open` */
export interface OpenParams {
  /** A path whose folder exists, or `:memory:`; default below the user's state folder. */
  readonly database?: string | null;
  /** What the host answers. */
  readonly ports?: readonly Port[];
  /** The configuration document. */
  readonly config?: unknown;
  /** Read the global configuration file. */
  readonly readGlobal?: boolean;
  /** Read the configuration variables of the environment. */
  readonly readEnvironment?: boolean;
  /** Read the project file of each session's worktree. */
  readonly readProject?: boolean;
}

/** The ports a host can install. */
export type Port = "approval" | "environment" | "hostTool" | "hook" | "formatter";

/** Every method of the protocol: what it takes and what it answers. */
export interface Methods {
  "runtime.config": { params: Nothing; result: Json };
  "runtime.diagnostics": { params: Nothing; result: Json };
  "runtime.waiting": { params: Nothing; result: WaitingList };
  "tool.register": { params: HostToolSpec; result: RegisteredName };
  "tool.unregister": { params: Named; result: Removed };
  "tool.list": { params: Nothing; result: Tools };
  "hook.register": { params: HookSpec; result: HookId };
  "hook.unregister": { params: HookRef; result: Removed };
  "session.create": { params: CreateParams; result: SessionRecord };
  "session.open": { params: OfSession; result: SessionRecord };
  "session.get": { params: OfSession; result: SessionRecord };
  "session.list": { params: ListSessions; result: Sessions };
  "session.children": { params: OfSession; result: Sessions };
  "session.tools": { params: ToolsOf; result: SessionTools };
  "session.dispatch": { params: Dispatch; result: DispatchResult };
  "session.interrupt": { params: Interrupt; result: Interrupted };
  "session.messages": { params: MessagesOf; result: Messages };
  "session.unsettled": { params: OfSession; result: Calls };
  "session.reconcile": { params: ReconcileParams; result: Part };
  "session.close": { params: OfSession; result: SessionRecord };
  "session.archive": { params: OfSession; result: SessionRecord };
  "session.unarchive": { params: OfSession; result: SessionRecord };
  "session.delete": { params: Delete; result: Deleted };
  "permission.list": { params: MaybeSession; result: Requests };
  "permission.reply": { params: PermissionReply; result: PermissionRequest };
  "permission.grants": { params: OfSession; result: Grants };
  "question.publish": { params: PublishParams; result: Question };
  "question.list": { params: ListQuestions; result: Questions };
  "question.get": { params: QuestionRef; result: Question };
  "question.respond": { params: Command; result: CommandReceipt };
  "question.wait": { params: WaitQuestion; result: Waited };
  "artifact.read": { params: ReadArtifact; result: Json };
  "receipt.get": { params: ReceiptRef; result: VerificationReceipt };
  "event.subscribe": { params: Subscribe; result: SubscriptionId };
  "event.unsubscribe": { params: SubscriptionRef; result: Removed };
  "event.read": { params: ReadEvents; result: EventPage };
}
