import { useEffect, useState } from "react";
import { plainText } from "./ansi.ts";
import type { LogLines } from "./log-lines.ts";

/** Lines searched at once; more would delay input. */
const sliceSize = 4000;
/** Enough to step through; the count says when there are more. */
const maxMatches = 5000;

export interface LogMatches {
  /** Indexes of the lines that contain the text, in order. */
  indexes: number[];
  isFull: boolean;
}

const none: LogMatches = { indexes: [], isFull: false };

/** Searches slice by slice, so that typing stays smooth over a hundred thousand lines; continues as lines arrive. */
export function useLogSearch(log: LogLines, wanted: string, lineCount: number): LogMatches {
  const [found, setFound] = useState<{ wanted: string; upTo: number; matches: LogMatches }>({
    wanted: "",
    upTo: 0,
    matches: none,
  });
  // A new text starts from the first line; new lines continue after the last slice.
  const isNew = found.wanted !== wanted;
  const upTo = isNew ? 0 : found.upTo;
  const before = isNew ? none : found.matches;
  useEffect(() => {
    if (wanted === "" || upTo >= lineCount || before.isFull) return;
    const timer = setTimeout(() => {
      const end = Math.min(upTo + sliceSize, log.next);
      const indexes = matchesIn(log, wanted, upTo, end);
      const all = [...before.indexes, ...indexes];
      setFound({
        wanted,
        upTo: end,
        matches: { indexes: all.slice(0, maxMatches), isFull: all.length > maxMatches },
      });
    });
    return () => clearTimeout(timer);
  }, [log, wanted, lineCount, upTo, before]);
  return wanted === "" ? none : before;
}

function matchesIn(log: LogLines, wanted: string, from: number, to: number): number[] {
  const needle = wanted.toLowerCase();
  const indexes: number[] = [];
  for (let index = from; index < to; index++)
    if (plainText(log.textAt(index)).toLowerCase().includes(needle)) indexes.push(index);
  return indexes;
}
