import { readFileSync } from "node:fs";
import { type Document, parseDocument } from "yaml";
import { messageOf } from "../errors.ts";
import { isSettingKey, settingKeys } from "./config.ts";

/** The settings of a file by key. The message of an error continues the name of the file. */
export function settingsOfFile(path: string): [string, unknown][] {
  const parsed = parse(textOf(path));
  if (parsed === null || parsed === undefined) return [];
  if (typeof parsed !== "object" || Array.isArray(parsed))
    throw new Error("is not readable YAML: expected settings such as `server:`");
  return flatten(parsed as Record<string, unknown>, "");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "ENOENT") throw new Error("does not exist; check --config");
    if (code === "EISDIR") throw new Error("is a folder; name the settings file");
    throw new Error(`cannot be read: ${messageOf(error)}`);
  }
}

function parse(text: string): unknown {
  const document = parseDocument(text, { merge: true, logLevel: "error" });
  const [error] = document.errors;
  if (error === undefined) return valuesOf(document);
  const line = error.linePos?.[0].line;
  if (error.code === "DUPLICATE_KEY")
    throw new Error(`has the key of line ${line} twice; put both parts together`);
  if (error.code === "MULTIPLE_DOCS")
    throw new Error(`has a second document in line ${line}; remove the ---`);
  // The next lines quote the file, which may contain secrets.
  throw new Error(`is not readable YAML: ${error.message.split(":\n")[0]}`);
}

function valuesOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    // The reason quotes the value, which may be a secret.
    throw new Error("is not readable YAML: a value that begins with * must be in quotes");
  }
}

/** `{push: {"pong-timeout": 60}}` and `{"push.pong-timeout": 60}` are the same setting. */
function flatten(tree: Record<string, unknown>, prefix: string): [string, unknown][] {
  return Object.entries(tree).flatMap(([name, value]): [string, unknown][] => {
    const key = prefix + name;
    if (value !== null && typeof value === "object" && !Array.isArray(value) && !isSettingKey(key))
      return flatten(value as Record<string, unknown>, `${key}.`);
    const isEmptyPart = value === null && settingKeys.some((setting) => setting.startsWith(`${key}.`));
    return isEmptyPart ? [] : [[key, value]];
  });
}
