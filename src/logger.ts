import pino from "pino";
import { visibleText } from "./visible-text.ts";

export type Logger = pino.Logger;
type LogLevel = "debug" | "info" | "warn" | "error";
type LogFormat = "auto" | "json" | "pretty";

/** The values of these keys are redacted, down to the third level of a log entry. */
const secretKeys = new Set([
  "authorization",
  "cookie",
  "code",
  "password",
  "secret",
  "secondSecret",
  "signature",
  "token",
  "apiKey",
  "lease",
  "credential",
  "privateKey",
]);
const redactedLevels = 3;

export function buildLogger(
  level: LogLevel,
  format: LogFormat,
  destination: NodeJS.WriteStream = process.stdout,
): Logger {
  const isPretty = format === "pretty" || (format === "auto" && destination.isTTY === true);
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Not pino's own redaction, which takes ten times as long as the rest of a line.
    formatters: { level: (label) => ({ level: label }), log: redacted },
  };
  const output = destination === process.stdout ? oncePerTurn(destination) : destination;
  if (!isPretty) return pino(options, output);
  return pino(options, { write: (line: string) => void output.write(prettyLine(line)) });
}

type Entry = Record<string, unknown>;

/** The entry itself if it contains no secret, otherwise a copy. */
function redacted(entry: Entry, level = 1): Entry {
  let copy: Entry | undefined;
  for (const [key, value] of Object.entries(entry)) {
    const safe = secretKeys.has(key) ? "[redacted]" : redactedValue(value, level);
    if (safe === value) continue;
    copy ??= Array.isArray(entry) ? ([...entry] as unknown as Entry) : { ...entry };
    copy[key] = safe;
  }
  return copy ?? entry;
}

function redactedValue(value: unknown, level: number): unknown {
  if (typeof value !== "object" || value === null || value instanceof Error) return value;
  return level < redactedLevels ? redacted(value as Entry, level + 1) : value;
}

/** Writes the lines of one turn of the event loop together: each write is a system call that wakes the reader. */
function oncePerTurn(destination: NodeJS.WriteStream): { write(line: string): void } {
  let lines = "";
  const flush = () => {
    const text = lines;
    lines = "";
    if (text !== "") destination.write(text);
  };
  process.on("exit", flush);
  return {
    write(line) {
      if (lines === "") setImmediate(flush);
      lines += line;
    },
  };
}

const colours: Record<string, string> = {
  debug: "\x1b[90m",
  info: "\x1b[36m",
  warn: "\x1b[33m",
  error: "\x1b[31m",
};

/** Time, level, message, then the other fields. */
function prettyLine(line: string): string {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const more = Object.entries(rest)
    .map(([key, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return ` \x1b[90m${key}=\x1b[0m${escaped(text)}`;
    })
    .join("");
  const colour = colours[String(level)] ?? "";
  return `\x1b[90m${String(time).slice(11, 19)}\x1b[0m ${colour}${String(level).padEnd(5)}\x1b[0m ${escaped(String(msg))}${more}\n`;
}

/** Further lines are indented, so that a line break in untrusted text, such as a request path, cannot forge a log line. */
function escaped(text: string): string {
  return visibleText(text, "\n\t").replaceAll("\n", "\n         ");
}
