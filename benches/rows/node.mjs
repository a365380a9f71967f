// Rounds of the Node face, as one JSON document: seconds per case.
import { pathToFileURL } from "node:url";
import path from "node:path";
import { readFileSync } from "node:fs";

const [, , packageDirectory, place, rounds] = process.argv;
const entry = JSON.parse(readFileSync(path.join(packageDirectory, "package.json"), "utf8")).main;
const loaded = await import(pathToFileURL(path.join(packageDirectory, entry)));
const zuno = loaded.open ? loaded : loaded.default;

const runtime = await zuno.open({ store: path.join(place, "state.db"), config: { sandbox: { mode: "danger-full-access" } } });
await runtime.registerTool({
  name: "echo",
  description: "Echo.",
  inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"], additionalProperties: false },
  effect: "ReadOnly",
  replay: "Safe",
  concurrency: "ParallelSafe",
  execute: async ({ word }) => word,
});
const session = await runtime.session({ directory: place });
const file = path.join(place, "file.txt");
const cases = {
  "zuno read, Node": () => session.call("read", { filePath: file }),
  "call of an async host tool, Node": () => session.call("echo", { word: "hello" }),
};
const answer = { "zuno read, Node": [], "call of an async host tool, Node": [], "round trip (difference), Node": [] };
for (let round = -1; round < Number(rounds); round++) {
  const medians = [];
  for (const [name, run] of Object.entries(cases)) {
    const samples = [];
    for (let at = 0; at < 300; at++) {
      const started = performance.now();
      const result = await run();
      samples.push((performance.now() - started) / 1000);
      if (result.outcome !== "ok") throw new Error(`${name}: ${result.output}`);
    }
    medians.push(samples.sort((a, b) => a - b)[150]);
    if (round >= 0) answer[name].push(medians.at(-1));
  }
  if (round >= 0) answer["round trip (difference), Node"].push(Math.max(0, medians[1] - medians[0]));
}
await runtime.close();
console.log(JSON.stringify(answer));
