import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { open } from "zuno";
import { rgPath } from "@vscode/ripgrep";

import { folder } from "./support.mjs";

/** The configured ripgrep of a runtime. */
async function configured(options: Parameters<typeof open>[0] = {}): Promise<unknown> {
  const runtime = await open({ store: ":memory:", ...options });
  try {
    const { values } = await runtime.config();
    return (values as { search?: { ripgrep_path?: unknown } }).search?.ripgrep_path;
  } finally {
    await runtime.close();
  }
}

test("the packaged ripgrep is used when nothing else is there", async (t) => {
  const saved = { ...process.env };
  t.after(() => Object.assign(process.env, saved));
  const where = folder(t);
  process.env["PATH"] = where;
  assert.equal(await configured(), rgPath);

  await t.test("what the host configures stays", async () => {
    assert.equal(await configured({ config: { search: { ripgrep_path: "/opt/rg" } } }), "/opt/rg");
  });

  await t.test("what a file configures stays", async () => {
    mkdirSync(path.join(where, "config"));
    process.env["ZUNO_CONFIG_DIR"] = path.join(where, "config");
    assert.equal(await configured({ readGlobal: true }), rgPath);
    writeFileSync(path.join(where, "config/zuno.json"), '{"search":{"ripgrep_path":"/opt/other/rg"}}');
    assert.equal(await configured({ readGlobal: true }), "/opt/other/rg");
    assert.equal(await configured(), rgPath);
  });

  await t.test("one on PATH that is too old is passed over, a newer one is taken", async () => {
    const program = path.join(where, "rg");
    writeFileSync(program, "#!/bin/sh\necho ripgrep 13.0.0\n", { mode: 0o755 });
    assert.equal(await configured(), rgPath);
    writeFileSync(program, "#!/bin/sh\necho ripgrep 14.1.0\n", { mode: 0o755 });
    assert.equal(await configured(), undefined);
  });
});
