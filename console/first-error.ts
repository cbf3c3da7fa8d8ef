import { plainText } from "./ansi.ts";
import type { LogLines } from "./log-lines.ts";

/** How compilers, test runners and shells begin or mark an error. */
const errorWords =
  /(?:^|[^\w-])(?:error|errors|fatal|failed|failure|exception|panic|traceback|not found|no such file|permission denied|cannot|undefined reference|FAIL|ERR!)(?![\w-])|[✕✗✖×]/i;
/** Summaries and settings that name errors where there are none. */
const notErrors =
  /\b(?:0|no) (?:errors?|failures?|failed)\b|(?:errors?|failures?|failed)[:=] ?0\b|--\w*(?:error|fail)/i;

/** What the runner itself says between the lines of a script, such as "[waiting for 127.0.0.1:3000]". */
const runnerLine = /^\[[^\]]*\]$/;

/**
 * Index of the line that probably says why a stage failed: the first that names an error, else the last line of its first
 * segment with output, because a rollback runs the stage of an earlier release afterwards. Of lines that repeat, as those of
 * a health check, it is the first. Null: the stage has no output.
 */
export function firstErrorOf(log: LogLines, stage: string): number | null {
  let last: number | null = null;
  let lastText = "";
  for (const segment of log.segments) {
    if (segment.stage !== stage) continue;
    const isFirst = last === null;
    for (let index = segment.from; index < segment.to; index++) {
      const text = plainText(log.textAt(index)).trim();
      if (text === "") continue;
      if (errorWords.test(text) && !notErrors.test(text)) return index;
      if (!isFirst || text === lastText || runnerLine.test(text)) continue;
      last = index;
      lastText = text;
    }
  }
  return last;
}
