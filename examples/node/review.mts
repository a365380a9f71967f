/**
 * A small host: it looks over a checkout, asks what to do with its notes, and writes them once you have seen the diff.
 *
 *     make node-example        or, after a build:  node examples/node/dist/review.mjs [directory]
 *
 * Everything a host does is here: a durable session, one batch of calls as a model would send it, approvals that show what
 * would happen, a question, live progress, and outcomes as data. Without a terminal it answers by itself and says so.
 */
import { mkdtemp, rm, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Interface, createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";

import { type ApprovalRequest, type Decision, type EventStream, type Outcome, allow, call, deny, open } from "zuno";

const NOTES = "zuno-review.md";
type Style = Parameters<typeof styleText>[0];
const STYLES: { [word: string]: Style } = { ok: "green", blocked: "yellow", error: "red", uncertain: "magenta" };

/** Prints, asks, and shows one line of progress in between. */
class Terminal {
  readonly interactive = process.stdin.isTTY === true;
  readonly #live = process.stdout.isTTY === true;
  readonly #colour = this.#live && process.env["NO_COLOR"] === undefined;
  #progress = false;
  #asking = false;

  paint(text: string, style: Style): string {
    return this.#colour ? styleText(style, text) : text;
  }

  say(text = ""): void {
    this.#clear();
    console.log(text);
  }

  progress(text: string): void {
    if (!this.#live || this.#asking) return;
    this.#clear();
    process.stdout.write(this.paint(text, "dim"));
    this.#progress = true;
  }

  #clear(): void {
    if (this.#progress) process.stdout.write("\r\x1b[K");
    this.#progress = false;
  }

  /** One of the choices, by its first letters or its number. */
  async ask(prompt: string, choices: readonly string[], usual: string): Promise<string> {
    if (!this.interactive) {
      this.say(`  ${prompt}  ${this.paint(`-> ${usual} (no terminal: answered by itself)`, "bold")}`);
      return usual;
    }
    this.say(`  ${prompt}  ${choices.map((choice, index) => `${index + 1} ${choice}`).join(" / ")}`);
    this.#asking = true;
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return await this.#choose(lines, choices, usual);
    } finally {
      lines.close();
      this.#asking = false;
    }
  }

  async #choose(lines: Interface, choices: readonly string[], usual: string): Promise<string> {
    for (;;) {
      const given = (await lines.question(`  [${usual}] > `)).trim().toLowerCase();
      if (given === "") return usual;
      const found = choices.find(
        (choice, index) => given === String(index + 1) || choice.toLowerCase().startsWith(given),
      );
      if (found !== undefined) return found;
    }
  }
}

/** The host's side of one review. */
class Review {
  readonly #terminal: Terminal;
  readonly #permission = new Map<string, string>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Called by the library whenever the rules leave a call to a person. */
  readonly approve = async (request: ApprovalRequest): Promise<Decision> => {
    this.#terminal.say(this.#terminal.paint(`\n  May this run?  ${request.summary}`, "bold"));
    for (const line of (request.diff ?? "").split("\n").slice(0, 24)) {
      const style: Style = line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : "dim";
      if (line !== "") this.#terminal.say(`    ${this.#terminal.paint(line.slice(0, 76), style)}`);
    }
    const offered = ["once", ...(request.choices.includes("always") ? ["always"] : []), "no"];
    const answer = await this.#terminal.ask("Allow it?", offered, "once");
    this.#permission.set(`${request.messageId} ${request.callId}`, `asked: ${answer}`);
    if (answer === "no") return deny("The reviewer said no.");
    return answer === "always" ? allow.always() : allow.once();
  };

  /** Shows what runs, from the session's events. */
  async follow(events: EventStream): Promise<void> {
    const running = new Map<string, string>();
    const started = Date.now();
    const show = (): void => {
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      if (running.size > 0) this.#terminal.progress(`  ${seconds} s  ${[...running.values()].join(", ")} ...`);
    };
    const clock = setInterval(show, 100);
    for await (const event of events) {
      if (event.type === "tool.dispatch.started") running.set(event.data.callId, event.data.tool);
      if (event.type === "tool.dispatch.completed") running.delete(event.data.callId);
      show();
    }
    clearInterval(clock);
  }

  /** One row per call. */
  table(outcomes: readonly Outcome[]): void {
    const { paint, say } = {
      paint: this.#terminal.paint.bind(this.#terminal),
      say: this.#terminal.say.bind(this.#terminal),
    };
    const head = ["tool".padEnd(15), "effect".padEnd(15), "permission".padEnd(15), "time".padStart(8), "  outcome"];
    say(paint(`\n  ${head.join("")}`, "bold"));
    for (const outcome of outcomes) {
      const usual = outcome.outcome === "blocked" ? "-" : "by rule";
      const permission = this.#permission.get(`${outcome.messageId} ${outcome.callId}`) ?? usual;
      const took = outcome.duration === null ? "-" : `${outcome.duration} ms`;
      const proof = proofOf(outcome);
      const word = paint(outcome.outcome, STYLES[outcome.outcome] ?? "dim");
      const cells = [outcome.tool.padEnd(15), outcome.effect.padEnd(15), permission.padEnd(15), took.padStart(8)];
      say(`  ${cells.join("")}  ${word}${proof === "" ? "" : `: ${proof}`}`);
      if (outcome.error !== null) say(paint(`    ${outcome.error.message.slice(0, 74)}`, "dim"));
    }
  }
}

/** What stands behind an outcome. */
function proofOf(outcome: Outcome): string {
  if (outcome.receipt !== null) return `${outcome.receipt.outcome}, ${outcome.receipt.authority}`;
  return outcome.outcome === "blocked" ? outcome.blockKind : (outcome.error?.kind ?? "");
}

/** What the review found, as a page. */
function notes([sources, marks, , , listed]: readonly Outcome[]): string {
  const found = (marks?.output ?? "").split("\n").filter((line) => line.trim() !== "");
  const entries = listed?.output.split(/\s/)[0] ?? "0";
  const files = sources?.output.split("\n").length ?? 0;
  return [
    "# Review notes",
    "",
    `${files} source files, ${entries} entries at the top.`,
    "",
    "```",
    ...found.slice(0, 12),
    "```",
    "",
  ].join("\n");
}

async function review(directory: string, terminal: Terminal, store: string): Promise<boolean> {
  const host = new Review(terminal);
  await using runtime = await open({
    store,
    approve: host.approve,
    config: { sandbox: { onUnavailable: "run-unconfined" } },
  });
  const session = await runtime.session({ directory, title: "review" });
  terminal.say(terminal.paint(`  Review of ${session.record.directory}`, "bold"));
  const events = session.events({ live: false });
  const following = host.follow(events);

  const outcomes = await session.dispatch([
    call("glob", { pattern: "**/*.{c,go,js,py,rs,ts}" }),
    call("grep", { pattern: "TODO|FIXME|XXX" }),
    call("read", { filePath: "README.md", limit: 40 }),
    { name: "read", arguments: { filepath: "README.md" } }, // a slip of the pen, as models make them
    call("shell", { command: "ls | wc -l | tr -d ' '" }),
  ]);
  const options = [
    { label: "Write", description: "Shows the diff first." },
    { label: "Skip", description: "Nothing is written." },
  ];
  outcomes.push(
    await session.call("question_async", {
      questions: [{ header: "Notes", question: `Write the notes to ${NOTES}?`, options }],
    }),
  );
  for (const question of await session.questions.pending()) {
    for (const item of question.items) {
      terminal.say();
      const labels = item.options.map(({ label }) => label);
      const answer = await terminal.ask(item.question, labels, "Write");
      await question.answer({ [item.id]: answer });
      if (answer === "Write") outcomes.push(await session.write(NOTES, notes(outcomes)));
    }
  }

  events.close();
  await following;
  host.table(outcomes);
  for (const file of outcomes.flatMap(({ writtenPaths }) => writtenPaths)) {
    terminal.say(`\n  Wrote ${file}`);
    if (terminal.interactive) continue;
    await unlink(file);
    terminal.say("  and removed it again: nobody is here to want it.");
  }
  return outcomes.every(({ outcome }) => outcome === "ok" || outcome === "blocked");
}

const here = path.dirname(fileURLToPath(import.meta.url));
const checkout = path.resolve(here, path.basename(here) === "dist" ? "../../.." : "../..");
const state = await mkdtemp(path.join(tmpdir(), "zuno-review-"));
try {
  process.exitCode = (await review(
    path.resolve(process.argv[2] ?? checkout),
    new Terminal(),
    path.join(state, "state.db"),
  ))
    ? 0
    : 1;
} finally {
  await rm(state, { recursive: true, force: true });
}
