/** What commands print: a table for people, or with --json one JSON value for programs. */
export interface OutputOptions {
  json?: boolean;
}

export function print(options: OutputOptions, value: unknown, forPeople: () => string): void {
  process.stdout.write(`${options.json ? JSON.stringify(value) : forPeople()}\n`);
}

export type Row = Record<string, string | number | boolean | null | undefined>;

/** Longer cells would push all that follows out of sight; the last column has nothing behind it. */
const maxCellLength = 72;

/** Columns as wide as their widest cell; control characters in cells are shown, never sent to the terminal. */
export function table(rows: Row[], columns: string[]): string {
  if (rows.length === 0) return "(none)";
  const cells = rows.map((row) =>
    columns.map((column, i) => {
      const cell = visible(row[column]);
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

export function visible(value: Row[string]): string {
  if (value === null || value === undefined) return "-";
  return String(value).replaceAll(
    /\p{Cc}/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
