// Puts the addon that `cargo build` made beside the package. Atomic, so that a running process keeps the file it has mapped.
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { platformName } = require("../dist/native.js");
const root = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const profile = process.argv[2] ?? "debug";
const names = { darwin: "libzuno_node.dylib", win32: "zuno_node.dll" };
const source = path.join(
  process.env.CARGO_TARGET_DIR ?? path.join(root, "target"),
  profile,
  names[process.platform] ?? "libzuno_node.so",
);
const target = path.join(root, "bindings-node", `zuno.${platformName()}.node`);
if (!existsSync(target) || !readFileSync(source).equals(readFileSync(target))) {
  copyFileSync(source, `${target}.new`);
  renameSync(`${target}.new`, target);
}
