/** One field that differs. A side that is absent: the field is not there. */
export interface Difference {
  field: string;
  from?: unknown;
  to?: unknown;
}

/** What differs between two values, field by field; lists of plain values are compared as a whole. */
export function differences(from: unknown, to: unknown, field = ""): Difference[] {
  if (Bun.deepEquals(from, to)) return [];
  const [before, after] = [partsOf(from, to), partsOf(to, from)];
  if (before === null || after === null)
    return [{ field, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(before[name], after[name], field === "" ? name : `${field}.${name}`),
  );
}

type Parts = Record<string, unknown>;

/** The fields of a value that is compared field by field with `other`; null: it is not. */
function partsOf(value: unknown, other: unknown): Parts | null {
  if (value === undefined) return hasParts(other) ? {} : null;
  const isAlike = other === undefined || (isObject(other) && Array.isArray(value) === Array.isArray(other));
  return isAlike && (hasParts(value) || (isObject(value) && hasParts(other))) ? (value as Parts) : null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether a value has fields of its own to show: an object with fields, or a list of such objects. */
function hasParts(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isObject);
  return isObject(value) && Object.keys(value).length > 0;
}

/** `~ limits.memoryMb: null → 512`; of a text with several lines, the lines that differ. */
export function differenceText({ field, from, to }: Difference): string {
  const sign = from === undefined ? "+" : to === undefined ? "-" : "~";
  const [before, after] = [linesOf(from), linesOf(to)];
  if (before.length <= 1 && after.length <= 1)
    return `  ${sign} ${field}: ${[from, to].flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])).join(" → ")}`;
  const lines = [...changedLines(before, after, "- "), ...changedLines(after, before, "+ ")];
  return [`  ${sign} ${field}:`, ...lines.map((line) => `      ${line}`)].join("\n");
}

function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? value.trimEnd().split("\n") : [JSON.stringify(value)];
}

/** Without the lines that both have at their beginning and at their end. */
function changedLines(lines: string[], others: string[], mark: string): string[] {
  const start = lines.findIndex((line, index) => line !== others[index]);
  if (start < 0) return [];
  let same = 0;
  const most = Math.min(lines.length, others.length) - start;
  while (same < most && lines.at(-1 - same) === others.at(-1 - same)) same++;
  return lines.slice(start, lines.length - same).map((line) => `${mark}${line}`);
}
