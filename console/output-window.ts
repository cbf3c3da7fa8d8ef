import type { InferResponseType } from "hono/client";
import type { api } from "./api.ts";
import { type LogSegment, type LogSource, widthOf } from "./log-lines.ts";

export type OutputPart = InferResponseType<
  (typeof api.projects)[":id"]["services"][":name"]["output"]["$get"],
  200
>;
export type OutputMark = OutputPart["marks"][number];

/** Lines on the page. Beyond it, lines at the other end than the new ones are dropped: they can be read again. */
const maxShown = 5000;

/** A part of the output of a service that is on the page. */
export interface OutputWindow {
  lines: OutputPart["lines"];
  marks: OutputMark[];
  /** Where earlier output is read from, backwards. */
  before: number;
  /** Where later output is read from. */
  after: number;
  /** The first position that the runner has kept. */
  first: number;
}

/** The end of the output. The last line is read again, because the line after it may have been incomplete. */
export function windowAtEnd({ lines, marks, next, from, to }: OutputPart, search: string): OutputWindow {
  const after = lines.at(-1)?.position ?? (search === "" ? from : to);
  return { lines, marks, before: next, after, first: from };
}

export function withLater(known: OutputWindow, part: OutputPart): OutputWindow {
  const last = known.lines.at(-1)?.position ?? -1;
  const all = [...known.lines, ...part.lines.filter(({ position }) => position > last)];
  const dropped = all.length - maxShown;
  const lines = dropped > 0 ? all.slice(dropped) : all;
  const before = dropped > 0 ? (lines[0]?.position ?? known.before) : known.before;
  const marks = joined(known.marks, part.marks).filter(({ position }) => position >= before);
  return { lines, marks, before, after: part.next, first: part.from };
}

export function withEarlier(known: OutputWindow, part: OutputPart): OutputWindow {
  const all = [...part.lines, ...known.lines];
  const after = all[maxShown]?.position ?? known.after;
  const marks = joined(part.marks, known.marks).filter(({ position }) => position <= after);
  return { lines: all.slice(0, maxShown), marks, before: part.next, after, first: part.from };
}

export function hasEarlier({ before, first }: OutputWindow): boolean {
  return before > first;
}

/** Two parts may both have the mark at the place where they meet. */
function joined(earlier: OutputMark[], later: OutputMark[]): OutputMark[] {
  const keyOf = ({ position, kind, at }: OutputMark) => `${position} ${kind} ${at}`;
  const known = new Set(earlier.map(keyOf));
  return [...earlier, ...later.filter((mark) => !known.has(keyOf(mark)))];
}

/** The window as a log: each mark begins a segment, and the first segment has what is before all marks. */
export class OutputLog implements LogSource {
  readonly #lines: OutputPart["lines"];
  readonly #marks = new Map<LogSegment, OutputMark>();
  readonly segments: LogSegment[];

  /** `isSearch`: marks without a line that was found are left out. */
  constructor({ lines, marks }: OutputWindow, isSearch: boolean) {
    this.#lines = lines;
    const top: LogSegment = { stage: "output", title: "", from: 0, to: 0 };
    this.segments = [top];
    let last = top;
    let index = 0;
    const fillUpTo = (position: number) => {
      while (index < lines.length && (lines[index]?.position ?? 0) < position) index++;
      last.to = index;
    };
    for (const mark of marks) {
      fillUpTo(mark.position);
      if (isSearch && last !== top && last.from === last.to) this.segments.pop();
      last = { stage: "output", title: `${mark.kind} ${mark.at}`, from: index, to: index };
      this.#marks.set(last, mark);
      this.segments.push(last);
    }
    fillUpTo(Number.POSITIVE_INFINITY);
    if (isSearch && last !== top && last.from === last.to) this.segments.pop();
  }

  get next(): number {
    return this.#lines.length;
  }

  textAt(index: number): string {
    return this.#lines[index]?.text ?? "";
  }

  widthAt(index: number): number {
    return widthOf(this.textAt(index));
  }

  /** Lines of output have no times. */
  timeAt(): number {
    return 0;
  }

  /** What happened where the segment begins; undefined: it is the first one. */
  markOf(segment: LogSegment): OutputMark | undefined {
    return this.#marks.get(segment);
  }
}
