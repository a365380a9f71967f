// Compiled, never run: what the types promise, and what they refuse.
import { type Event, type Outcome, type Runtime, type Session, call } from "zuno";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

export function outcomes(outcome: Outcome): string {
  // @ts-expect-error Only a refused call has a kind that is not null.
  const kind: string = outcome.blockKind;
  switch (outcome.outcome) {
    case "ok":
      same<typeof outcome.blockKind, null>(true);
      same<typeof outcome.error, null>(true);
      return outcome.output;
    case "blocked":
      same<typeof outcome.blockKind, "invalid_arguments" | "unavailable" | "denied">(true);
      if (outcome.blockKind === "denied") return outcome.error.denial.reason;
      // @ts-expect-error A denial is there only when somebody denied.
      void outcome.error.denial;
      return outcome.blockKind === "invalid_arguments" ? (outcome.error.suggestion ?? "") : outcome.error.reason;
    case "error":
      if (outcome.error.kind === "MutationConflict") return outcome.error.conflict.requiredAction;
      return outcome.error.kind === "Timeout" ? String(outcome.error.elapsedMs) : outcome.error.message;
    case "uncertain":
      return outcome.uncertain.cause;
    default:
      same<typeof outcome, never>(true);
      return kind;
  }
}

export function events(event: Event): string | number {
  switch (event.type) {
    case "tool.output.delta":
      return event.data.text;
    case "question.opened":
      return event.data.questions.length;
    case "permission.asked":
      return event.data.tool;
    case "stream.lagged":
      // @ts-expect-error Not a field of this event.
      void event.data.text;
      return event.data.dropped;
    default:
      return event.seq;
  }
}

export async function calls(session: Session, runtime: Runtime): Promise<void> {
  await session.call("read", { filePath: "a" });
  // @ts-expect-error The argument is spelled `filePath`.
  await session.call("read", { filepath: "a" });
  await session.call("my_tool", { anything: 1 });
  // @ts-expect-error `limit` is a number.
  call("read", { filePath: "a", limit: "1" });
  await session.shell("x", { exitPolicy: "all", timeout: 1, signal: AbortSignal.timeout(1) });
  // @ts-expect-error Not a policy.
  await session.shell("x", { exitPolicy: "some" });
  const { sessions } = await runtime.call("session.list");
  same<(typeof sessions)[number]["state"], "active" | "closed" | "archived">(true);
  // @ts-expect-error It takes a directory.
  await runtime.call("session.create", {});
  const [tool] = await session.tools({ format: "openai" });
  same<NonNullable<typeof tool>["type"], "function">(true);
}
