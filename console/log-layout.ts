import type { LogSegment, LogSource } from "./log-lines.ts";

/** The numbers of lines are links, and a link needs 24 pixels to be hit. */
export const lineHeight = 24;
export const headHeight = 28;

/** A row in sight: the head of a segment, or a line. */
export type LogRow =
  | { kind: "head"; segment: LogSegment; top: number }
  | { kind: "line"; index: number; segment: LogSegment; top: number; height: number };

interface Placed {
  segment: LogSegment;
  top: number;
  isOpen: boolean;
  height: number;
}

/** Where each row is, without an object per line. `columns`: characters of a wrapped row; null: lines are not wrapped. */
export class LogLayout {
  readonly #placed: Placed[] = [];
  /** Rows before each line, if lines are wrapped. */
  readonly #rowsBefore: Uint32Array | null;
  readonly height: number;

  constructor(log: LogSource, isCollapsed: (segment: LogSegment) => boolean, columns: number | null) {
    this.#rowsBefore = columns === null ? null : rowsBefore(log, columns);
    let top = 0;
    for (const segment of log.segments) {
      const isOpen = !isCollapsed(segment);
      const height = headHeight + (isOpen ? this.#heightOf(segment.from, segment.to) : 0);
      this.#placed.push({ segment, top, isOpen, height });
      top += height;
    }
    this.height = top;
  }

  /** Null: the line is in a collapsed segment, or there is no such line. */
  topOf(index: number): number | null {
    const placed = this.#placed.find(({ segment }) => segment.from <= index && index < segment.to);
    if (placed === undefined || !placed.isOpen) return null;
    return placed.top + headHeight + this.#heightOf(placed.segment.from, index);
  }

  /** The rows between two heights of the whole log. */
  rowsIn(from: number, to: number): LogRow[] {
    const rows: LogRow[] = [];
    for (const { segment, top, isOpen, height } of this.#placed) {
      if (top + height < from || top > to) continue;
      if (top + headHeight >= from) rows.push({ kind: "head", segment, top });
      if (!isOpen) continue;
      const start = top + headHeight;
      for (let index = this.#lineAt(segment, from - start); index < segment.to; index++) {
        const lineTop = start + this.#heightOf(segment.from, index);
        if (lineTop > to) break;
        const lineBottom = start + this.#heightOf(segment.from, index + 1);
        rows.push({ kind: "line", index, segment, top: lineTop, height: lineBottom - lineTop });
      }
    }
    return rows;
  }

  #heightOf(from: number, to: number): number {
    const rows = this.#rowsBefore;
    return lineHeight * (rows === null ? to - from : (rows[to] ?? 0) - (rows[from] ?? 0));
  }

  /** The line of a segment at this height below its head. */
  #lineAt({ from, to }: LogSegment, height: number): number {
    if (height <= 0) return from;
    let low = from;
    let high = to - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#heightOf(from, middle) <= height) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function rowsBefore(log: LogSource, columns: number): Uint32Array {
  const rows = new Uint32Array(log.next + 1);
  for (let index = 0; index < log.next; index++)
    rows[index + 1] = (rows[index] ?? 0) + Math.max(1, Math.ceil(log.widthAt(index) / columns));
  return rows;
}
