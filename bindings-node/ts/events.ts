import type {
  BlockKind,
  Concurrency,
  Effect,
  Event as Envelope,
  Json,
  PermissionRequest,
  Question as QuestionView,
  Replay,
  VerificationReceipt,
} from "./generated/protocol.js";
import type { CallError, Metadata, Outcome } from "./outcome.js";

type Fields = { [key: string]: Json };
type End = { assistantMessageId: string; steps: number };

interface QuestionCommand extends QuestionView {
  commandType: "answer" | "defer" | "skip" | "snooze" | "plan_decision" | "auto_defer" | null;
  duplicate: false;
}

interface Execution extends Fields {
  taskID: string;
  sessionId: string;
  command: string;
  status: "running" | "completed" | "failed" | "cancelled" | "uncertain";
}

interface InboxEvent {
  inputId: string;
  kind: string;
  delivery: string;
  revision: number;
  cycleId: string | null;
  error: Json;
}

interface CycleEvent {
  cycleId: string;
  anchorMessageId: string | null;
  planId: string | null;
  goalId: string | null;
  stop: Json;
}

/** The data of every event, by type. Later versions may add types and fields: ignore what you do not know. */
export interface EventData {
  "session.created": { directory: string; agent: string; mode: string; title: string; parentId: string | null };
  "session.updated": { title?: string | null; state?: string | null; agent?: string | null; model?: string | null };
  "session.mode": { mode: string; phase: string; workIdentity: Json };
  "session.lease": { ownerId: string; pid: number; takenOver: boolean };
  "turn.started": {
    startKind: string;
    completionKind: string | null;
    anchorMessageId: string | null;
    agent: string;
    model: string | null;
  };
  "history.repaired": { repaired: { callId: string; tool: string; outcome: Outcome["outcome"] }[] };
  "context.refreshed": { sections: Json; bytes: number };
  "tool.snapshot.locked": { step: number; toolIds: string[] };
  "provider.request.started": { step: number; attemptId: string; messageCount: number; estimatedPromptTokens: number };
  "provider.delta": { step: number; kind: "text" | "reasoning" | "tool_input"; callId: string | null; text: string };
  "provider.usage": {
    step: number;
    input: number;
    output: number;
    cacheRead: number;
    cacheWrite: number;
    known: boolean;
  };
  "retry.rollback": { step: number; attempt: number; max: number; code: string; delayMs: number };
  "assistant.checkpointed": { step: number; messageId: string; finishReason: string; interrupted: boolean };
  "step.completed": { step: number; finishReason: string };
  "turn.completed": End & { decision: Json };
  "turn.waiting_for_human": End & { requestId: string };
  "turn.paused": End & { reason: string };
  "turn.interrupted": End & { reason: string };
  "turn.failed": End & { error: Json };
  notice: { severity: string; code: string; detail: Json };
  "tool.call.started": {
    step: number;
    messageId: string;
    callId: string;
    tool: string;
    arguments: Json;
    intent: string | null;
    uiIntent: "generic" | "subagent";
  };
  "tool.hook": { callId: string; hook: string; result: "continue" | "block" | "rewrite" };
  "dispatch-blocked": { step: number; callId: string; tool: string; kind: BlockKind; message: string; denial: Json };
  "tool.dispatch.started": {
    step: number;
    callId: string;
    tool: string;
    effect: Effect;
    replay: Replay;
    concurrency: Concurrency;
    dispatchedAt: number;
  };
  "tool.output.delta": {
    callId: string;
    taskID: string | null;
    offset: number;
    bytes: string;
    text: string;
    stream: "combined";
  };
  "tool.progress": { callId: string; message: string };
  "tool.dispatch.interrupted": { callId: string; mode: "cooperative" | "forced"; uncertain: Json };
  "tool.dispatch.completed": {
    step: number;
    callId: string;
    tool: string;
    title: string;
    outcome: Outcome["outcome"];
    error: CallError | null;
    metadata: Metadata;
  };
  "tool.result.appended": { step: number; callId: string; outcome: Outcome["outcome"]; blockKind: BlockKind | null };
  "tool.reconciled": { callId: string; verdict: "happened" | "did_not_happen" | "partly" };
  "permission.asked": PermissionRequest;
  "permission.settled": {
    requestId: string;
    state: PermissionRequest["state"];
    origin: "reply" | "grant" | "reject_all" | "interrupt" | "recovery";
  };
  "question.opened": QuestionView;
  "question.updated": QuestionCommand;
  "question.countdown": { requestId: string; deadlineAt: number };
  "question.cancelled": QuestionView;
  "question.authorization": { requestId: string; authorization: string; code: string | null };
  "plan.updated": { planId: string; revision: number; action: string; stackDepth: number; steps: Json };
  "plan.review": { planId: string; revision: number; state: string };
  "todo.updated": { changes: { action: string; id: string; revision: number }[] };
  "goal.updated": {
    goalId: string;
    revision: number;
    status: string;
    pauseReason: string | null;
    kind: string;
    criteria: Json[];
  };
  "task_context.updated": { taskId: string; revision: number; status: string };
  "memory.updated": { target: string; revision: number; candidateId: string; status: string };
  "notes.updated": { agent: string; name: string; revision: number; bytes: number };
  "receipt.recorded": VerificationReceipt;
  "report.published": { reportArtifact: Json };
  "input.admitted": InboxEvent;
  "input.promoted": InboxEvent;
  "input.consumed": InboxEvent;
  "input.cancelled": InboxEvent;
  "input.failed": InboxEvent;
  "input.superseded": InboxEvent;
  "input.receipt": { inputId: string; state: string; stopReason: string | null; gate: Json };
  "cycle.started": CycleEvent;
  "cycle.authorized": CycleEvent;
  "cycle.stopped": CycleEvent;
  "driver.phase": {
    phase: string;
    reason: string | null;
    progressFingerprint: string | null;
    unchangedCount: number | null;
    pauseReason: string | null;
    sourceIds: string[] | null;
  };
  "gate.changed": { readiness: string; requestId: string | null; sourceIds: string[] | null; reason: string | null };
  "completion.claimed": { taskID: string; receiptKey: string; owner: "inline" | "callback" };
  "background.started": Execution;
  "background.ended": Execution;
  "job.updated": { jobID: string; subject: Json; status: string; progress: Json };
  "child.created": { childSessionId: string; jobID: string; agent: string };
  "council.progress": { runId: string; valid: number; quorum: number; seats: { id: string; state: string }[] };
  "workflow.progress": { runId: string; nodes: { id: string; phase: string }[] };
  "compaction.completed": { epoch: number; messageCount: number; error: Json };
  "compaction.failed": { epoch: number; messageCount: number; error: Json };
  "skill.loaded": { name: string; source: string };
  "mcp.state": { server: string; state: string; error: Json };
  "tools.exposed": { toolIds: string[]; catalogRevision: Json };
  "stream.lagged": { dropped: number; resumeAfter: number };
  "runtime.closing": { reason: string };
}

/** The type of an event. */
export type EventType = keyof EventData;

/** An event of one type. */
export type EventOf<Type extends EventType> = Omit<Envelope, "type" | "data"> & { type: Type; data: EventData[Type] };

/** A fact about a session, by `type`. Durable ones are numbered without gaps and can be read again. */
export type Event = { [Type in EventType]: EventOf<Type> }[EventType];
