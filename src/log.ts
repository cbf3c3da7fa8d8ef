import pino from "pino";
import { visibleText } from "./visible-text.ts";

export type Log = pino.Logger;
type LogLevel = "debug" | "info" | "warn" | "error";
type LogFormat = "auto" | "json" | "pretty";

/** The values of these keys are redacted, down to the third level of a log entry. */
const secretKeys = [
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
];

export function buildLog(
  level: LogLevel,
  format: LogFormat,
  destination: NodeJS.WriteStream = process.stdout,
): Log {
  const isPretty = format === "pretty" || (format === "auto" && destination.isTTY === true);
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[redacted]" },
  };
  if (!isPretty) return pino(options, destination);
  return pino(options, { write: (line: string) => void destination.write(prettyLine(line)) });
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
