import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import vm from "node:vm";

import * as zuno from "zuno";

import { PACKAGE, folder } from "./support.mjs";

const require = createRequire(import.meta.url);
const run = promisify(execFile);

test("both module systems give the same things", () => {
  const common = require("zuno") as typeof zuno;
  const names = Object.keys(common).filter((name) => name !== "__esModule");
  assert.ok(names.length > 10);
  for (const name of names) assert.equal(zuno[name as keyof typeof zuno], common[name as keyof typeof zuno], name);
});

test("ZunoError: fields, classes, realms", () => {
  const cause = new Error("below");
  const error = new zuno.ZunoError("store.damaged", "The file is damaged.", { path: "x" }, { cause });
  assert.deepEqual(
    [error.name, error.code, error.message, error.details, error.cause],
    ["ZunoError", "store.damaged", "The file is damaged.", { path: "x" }, cause],
  );
  assert.ok(error instanceof Error && error instanceof zuno.ZunoError);
  assert.equal(error instanceof zuno.ToolFailure, false);
  assert.ok(new zuno.ToolFailure("x") instanceof zuno.ZunoError);
  const foreign = vm.runInNewContext(
    "Object.defineProperty(new Error('x'), Symbol.for('zuno.ZunoError'), { value: true })",
  ) as unknown;
  assert.equal(foreign instanceof Error, false);
  assert.ok(foreign instanceof zuno.ZunoError);
  for (const other of [null, undefined, 1, "x", {}, new Error("x")])
    assert.equal((other as unknown) instanceof zuno.ZunoError, false);
});

test("generated types are up to date", async () => {
  await run(process.execPath, [path.join(PACKAGE, "scripts/generate-types.mjs"), "--check"]);
});

test("no declaration says any", () => {
  const dist = path.join(PACKAGE, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) => /\.d\.m?ts$/.test(name));
  assert.ok(files.length > 15);
  for (const name of files) {
    const text = readFileSync(path.join(dist, name), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    assert.doesNotMatch(text, /\bany\b/, name);
  }
});

test("every export of the addon contains its panics, and none awaits JavaScript", () => {
  const source = path.join(PACKAGE, "src");
  let exported = 0;
  for (const name of readdirSync(source)) {
    const text = readFileSync(path.join(source, name), "utf8");
    assert.doesNotMatch(text, /call_async/, name);
    for (const found of text.matchAll(/#\[napi(.*)\]\s*\n\s*(?:pub )?(fn|struct|impl)/g)) {
      if (found[2] !== "fn") continue;
      exported += 1;
      assert.equal(found[1], "(catch_unwind)", `${name}: ${found[0]}`);
    }
  }
  assert.equal(exported, 11);
});

test("nothing of SQLite is exported by the addon", async (t) => {
  const addon = readdirSync(PACKAGE).find((name) => name.endsWith(".node"));
  assert.ok(addon !== undefined);
  const nm = await run("nm", ["-D", "--defined-only", path.join(PACKAGE, addon)], { maxBuffer: 1 << 26 }).catch(
    () => undefined,
  );
  if (nm === undefined) return t.skip("no nm here");
  assert.doesNotMatch(nm.stdout, /sqlite3_/);
  assert.match(nm.stdout, /napi_register_module_v1/);
});

test("npm install of the folder gives a package that works", async (t) => {
  const project = folder(t);
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  await run(npm, ["install", "--offline", "--no-audit", "--no-fund", "--no-update-notifier", PACKAGE], {
    cwd: project,
  });
  const use = (load: string): string => `${load}
    void (async () => {
      const runtime = await open({ store: ":memory:" });
      const session = await runtime.session({ directory: process.cwd() });
      console.log((await session.glob("package.json")).output.split("\\n").at(-1));
      await runtime.close();
    })();`;
  writeFileSync(path.join(project, "use.mjs"), use('import { open } from "zuno";'));
  writeFileSync(path.join(project, "use.cjs"), use('const { open } = require("zuno");'));
  for (const file of ["use.mjs", "use.cjs"]) {
    const { stdout } = await run(process.execPath, [file], { cwd: project });
    assert.match(stdout, /package\.json/, file);
  }
});

test("the packed packages work without the checkout", async (t) => {
  const project = folder(t);
  await run(process.execPath, [path.join(PACKAGE, "scripts/pack.mjs"), project]);
  const packed = readdirSync(project).filter((name) => name.endsWith(".tgz"));
  assert.equal(packed.length, 2, packed.join());
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  // What the packages depend on is left out: here it would come from the network.
  await run(
    "npm",
    ["install", "--offline", "--omit=optional", "--no-audit", "--no-fund", ...packed.map((name) => `./${name}`)],
    { cwd: project },
  );
  writeFileSync(
    path.join(project, "use.mjs"),
    'import { open } from "zuno"; const r = await open({ store: ":memory:" }); console.log((await r.tools()).length > 3); await r.close();',
  );
  const { stdout } = await run(process.execPath, ["use.mjs"], { cwd: project });
  assert.equal(stdout, "true\n");
});
