// Packs what a registry would hold: the package, without an addon, and one package for the platform this runs on.
//   node scripts/pack.mjs <folder>
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const { platformName } = require("../dist/native.js");
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const { devDependencies, scripts, files, ...manifest } = JSON.parse(
  readFileSync(path.join(root, "package.json"), "utf8"),
);

/** Every platform there is an addon for. */
const PLATFORMS = {
  "linux-x64-gnu": { os: ["linux"], cpu: ["x64"], libc: ["glibc"] },
  "linux-arm64-gnu": { os: ["linux"], cpu: ["arm64"], libc: ["glibc"] },
};

const out = path.resolve(process.argv[2] ?? ".");
const stage = mkdtempSync(path.join(tmpdir(), "zuno-pack-"));
const native = (platform) => `@zuno/${platform}`;

function pack(name, document, parts) {
  const folder = path.join(stage, name);
  mkdirSync(folder);
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(document, null, 2));
  for (const [from, to] of parts) cpSync(path.join(root, from), path.join(folder, to), { recursive: true });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
  });
}

const legal = ["MIT", "APACHE"].map((name) => [`../LICENSE-${name}`, `LICENSE-${name}`]);
const platform = platformName();
if (!(platform in PLATFORMS)) throw new Error(`There is no package for ${platform}.`);
const addon = `zuno.${platform}.node`;

try {
  mkdirSync(out, { recursive: true });
  const optional = Object.fromEntries(Object.keys(PLATFORMS).map((name) => [native(name), manifest.version]));
  const main = { ...manifest, optionalDependencies: { ...manifest.optionalDependencies, ...optional } };
  pack("zuno", main, [["dist", "dist"], ["README.md", "README.md"], ...legal]);
  const { name, version, description, license, engines } = { ...manifest, name: native(platform) };
  pack(platform, { name, version, description, license, engines, main: addon, ...PLATFORMS[platform] }, [
    [addon, addon],
    ...legal,
  ]);
} finally {
  rmSync(stage, { recursive: true, force: true });
}
