import { visibleText } from "../visible-text.ts";

/** Commands print a table for people, or with --json one JSON value for programs. */
export interface OutputOptions {
  json?: boolean;
}

/** Text from the server may be untrusted, so control characters are escaped. */
export function print(options: OutputOptions, value: unknown, forPeople: () => string): void {
  process.stdout.write(`${options.json ? jsonLine(value) : visibleText(forPeople(), "\n\t")}\n`);
}

/** As `print`, for a log line: colours are kept. */
export function printLogLine(options: OutputOptions, value: unknown, forPeople: () => string): void {
  process.stdout.write(`${options.json ? jsonLine(value) : colouredText(forPeople())}\n`);
}

/** JSON.stringify escapes only the first 32 control characters; escaping the others does not change the value. */
function jsonLine(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replaceAll(/[^ -~]/gu, (character) =>
    visibleText(character) === character ? character : character.split("").map(jsonEscape).join(""),
  );
}

function jsonEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const escapeCode = "\u001b";
const colourSequence = new RegExp(`${escapeCode}\\[([0-9;:]*)m`, "g");
const reset = `${escapeCode}[0m`;

/** Keeps only colours and styles. A line with any ends with a reset, so that it cannot affect the next line. */
function colouredText(line: string): string {
  let text = "";
  let end = 0;
  let hasColour = false;
  for (const match of line.matchAll(colourSequence)) {
    const isShown = !hidesText(match[1] ?? "");
    const before = line.slice(end, isShown ? match.index : match.index + match[0].length);
    text += visibleText(before, "\t") + (isShown ? match[0] : "");
    end = match.index + match[0].length;
    hasColour ||= isShown;
  }
  text += visibleText(line.slice(end), "\t");
  return hasColour && !text.endsWith(reset) ? text + reset : text;
}

/** Style 8 conceals; an 8 inside an extended colour (`38;5;8`) is a colour. */
function hidesText(parameters: string): boolean {
  const styles = parameters.replaceAll(/[34]8[;:](5[;:]\d+|2([;:]\d*){3,4})/g, "0");
  return styles.split(/[;:]/).some((style) => Number(style) === 8);
}

export type Row = Record<string, string | number | boolean | null | undefined>;

/** Longer cells are cut, except in the last column, so that all columns stay visible. */
const maxCellLength = 72;

/** Columns as wide as their widest cell, with control characters escaped. */
export function table<R extends object>(rows: R[], columns: (keyof R & string)[]): string {
  if (rows.length === 0) return "(none)";
  const cells = rows.map((row) =>
    columns.map((column, i) => {
      const cell = visible(row[column] as Row[string]);
      const isLong = cell.length > maxCellLength && i < columns.length - 1;
      return isLong ? `${cell.slice(0, maxCellLength - 1)}…` : cell;
    }),
  );
  const titles = columns.map(titleOf);
  const widths = titles.map((title, i) =>
    Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)),
  );
  const format = (line: string[]) =>
    line
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  return [format(titles), ...cells.map(format)].join("\n");
}

/** `liveTaskId` and `project_name` → `LIVE TASK ID`, `PROJECT NAME`. */
function titleOf(column: string): string {
  return column
    .replaceAll("_", " ")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toUpperCase();
}

/** The text as one line. */
export function visible(value: Row[string]): string {
  return value === null || value === undefined ? "-" : visibleText(String(value));
}

/** The text with its line ends; later lines are indented, so that none of them looks like output of the program. */
export function visibleLines(value: string): string {
  return value.split("\n").map(visible).join("\n    ");
}
