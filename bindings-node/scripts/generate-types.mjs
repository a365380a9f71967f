// Writes ts/generated/*.ts from the schemas of the core. With --check it writes nothing and says what is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const schemas = path.join(here, "../../schema");
const target = path.join(here, "../ts/generated");
const HEADER = "// Generated from schema/ by scripts/generate-types.mjs. Do not edit.\n";

const read = (name) => JSON.parse(readFileSync(path.join(schemas, name), "utf8"));
const literal = (value) => JSON.stringify(value);
const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));
const indent = (text) => text.replaceAll("\n", "\n  ");

function comment(text) {
  if (!text) return "";
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

/** Names of definitions that can be reached from a schema. */
function reach(schema, definitions, found = new Set()) {
  if (schema === null || typeof schema !== "object") return found;
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").at(-1);
    if (!found.has(name)) {
      found.add(name);
      reach(definitions[name], definitions, found);
    }
  }
  for (const value of Object.values(schema)) reach(value, definitions, found);
  return found;
}

/**
 * A schema as a type. `given` = a document the host writes: what has a default may be left out. Documents of the library
 * leave nothing out.
 */
function type(schema, given) {
  const unknown = given ? "unknown" : "Json";
  if (schema === true || schema === undefined) return unknown;
  if (typeof schema.$ref === "string") return schema.$ref.split("/").at(-1);
  if ("const" in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(" | ");
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) {
    const union = choices.map((choice) => type(choice, given));
    const shared = schema.properties ? object(schema, given) : "";
    return shared ? `${shared} & (${union.map((choice) => `\n  | ${indent(choice)}`).join("")}\n)` : union.join(" | ");
  }
  if (Array.isArray(schema.type)) return schema.type.map((kind) => type({ ...schema, type: kind }, given)).join(" | ");
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = type(schema.items, given);
      return given
        ? `readonly ${/[|&]/.test(item) ? `(${item})` : item}[]`
        : `${/[|&]/.test(item) ? `(${item})` : item}[]`;
    }
    case "object":
      return object(schema, given);
    default:
      return unknown;
  }
}

function object(schema, given) {
  const properties = Object.entries(schema.properties ?? {});
  const rest = schema.additionalProperties;
  if (properties.length === 0) {
    if (rest === false) return "Record<string, never>";
    return rest === true || rest === undefined
      ? `{ [key: string]: ${given ? "unknown" : "Json"} }`
      : `{ [key: string]: ${type(rest, given)} }`;
  }
  const required = new Set(schema.required ?? []);
  const fields = properties.map(([name, field]) => {
    const optional = given && !required.has(name) ? "?" : "";
    const nullable =
      !given && !required.has(name) && !/\bnull\b/.test(type(field, given)) && !allowsAnything(field) ? " | null" : "";
    return indent(
      `\n${comment(field.description)}${given ? "readonly " : ""}${key(name)}${optional}: ${type(field, given)}${nullable};`,
    );
  });
  return `{${fields.join("")}\n}`;
}

const allowsAnything = (schema) =>
  schema === true ||
  (typeof schema === "object" &&
    !("type" in schema) &&
    !("$ref" in schema) &&
    !("anyOf" in schema) &&
    !("oneOf" in schema));

function declare(name, schema, given) {
  const choices = schema.oneOf ?? schema.anyOf;
  const isInterface = schema.type === "object" && schema.properties && !choices;
  const body = type(schema, given);
  const listed = choices && !schema.properties && (body.length > 100 || body.includes("\n"));
  const text = listed ? choices.map((choice) => `\n  | ${indent(type(choice, given))}`).join("") : ` ${body}`;
  return `${comment(schema.description)}${isInterface ? `export interface ${name} ${body}` : `export type ${name} =${text};`}\n`;
}

function protocol() {
  const document = read("protocol.json");
  const definitions = document.$defs;
  const methods = Object.entries(document.methods);
  const told = reach([methods.map(([, method]) => method.result), document.event], definitions);
  const parts = [
    HEADER,
    "/** Any JSON value. */\nexport type Json = null | boolean | number | string | Json[] | { [key: string]: Json };\n",
  ];
  for (const [name, schema] of Object.entries(definitions)) parts.push(declare(name, schema, !told.has(name)));
  const rows = methods.map(
    ([name, method]) =>
      `\n  ${literal(name)}: { params: ${type(method.params, true)}; result: ${type(method.result, false)} };`,
  );
  parts.push(
    `/** Every method of the protocol: what it takes and what it answers. */\nexport interface Methods {${rows.join("")}\n}\n`,
  );
  return parts.join("\n");
}

function tools() {
  const parts = [HEADER];
  const listed = read("tools.json");
  const rows = [];
  for (const tool of listed) {
    const body = type(tool.inputSchema, true);
    rows.push(indent(`\n${comment(tool.description)}${key(tool.name)}: ${body};`));
  }
  parts.push(`/** Arguments of the built-in tools, by tool. */\nexport interface ToolArguments {${rows.join("")}\n}\n`);
  return parts.join("\n");
}

function codes() {
  const rows = read("codes.json").map((entry) => indent(`\n${comment(entry.meaning)}${literal(entry.code)}: string;`));
  return `${HEADER}\n/** Codes of host operations, with their meaning. */\nexport interface ErrorCodes {${rows.join("")}\n}\n`;
}

const files = { "protocol.ts": protocol(), "tools.ts": tools(), "codes.ts": codes() };
const check = process.argv.includes("--check");
let stale = false;
for (const [name, text] of Object.entries(files)) {
  const file = path.join(target, name);
  let before = "";
  try {
    before = readFileSync(file, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  if (before === text) continue;
  if (check) {
    console.error(`${path.relative(process.cwd(), file)} is out of date. Run: npm run generate`);
    stale = true;
  } else {
    writeFileSync(file, text);
  }
}
process.exitCode = stale ? 1 : 0;
