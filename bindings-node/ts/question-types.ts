/** One thing that is asked. */
export interface QuestionItem {
  readonly id: string;
  readonly question: string;
  readonly header: string;
  readonly options: readonly { readonly label: string; readonly description: string }[];
  /** More than one option may be taken. */
  readonly multiple: boolean;
  /** A typed answer is taken beside the options. */
  readonly custom: boolean;
}

/** Submitted values by item. */
export type AnswersByItem = { readonly [itemId: string]: readonly string[] };

/** A question as it stood when it was read. */
export interface QuestionView {
  readonly id: string;
  readonly origin: {
    readonly sessionId: string;
    readonly messageId: string | null;
    readonly callId: string | null;
    readonly turnId: string | null;
    readonly goalId: string | null;
  };
  /** Rises with every accepted command. */
  readonly revision: number;
  readonly mode: "blocking" | "deferred";
  readonly purpose: "clarification" | "required_input" | "plan_authorization" | "goal_resume";
  readonly state: "pending" | "answered" | "skipped" | "cancelled" | "failed";
  readonly questions: readonly QuestionItem[];
  readonly answers: AnswersByItem;
  readonly draftAnswers: AnswersByItem;
  readonly autoDefer: { readonly deadlineAt: number; readonly countdownAt: number; readonly state: "armed" | "snoozed" | "deferred" } | null;
  readonly timeCreated: number;
  readonly timeUpdated: number;
}
