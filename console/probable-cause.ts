import { plainText } from "./ansi.ts";
import type { LogLines } from "./log-lines.ts";

/** How compilers, test runners and shells begin or mark an error. */
const errorWords =
  /(?:^|[^\w./-])(?:error|errors|fatal|failed|failure|exception|panic|traceback|not found|no such file|permission denied|cannot|undefined reference|FAIL|ERR!)(?![\w/-]|\.\w)|(?:^|[\s\w])\w*(?:Error|Exception)(?=:|$)|^\s*[✕✗✖×]/i;
/** Summaries, settings, warnings and passed tests that name errors where there are none. */
const notErrors =
  /\b(?:0|no|without) (?:errors?|failures?|failed)\b|(?:errors?|failures?|failed)[:=] ?0\b|--\w*(?:error|fail)|^\W*(?:✓|✔|√|pass\b|passed\b|ok\b|info\b|debug\b|warn\b|warning\b|>|\$ )/i;

/** Which file or package failed, as test runners say before why: `FAIL src/cart.test.js`. */
const failedPart = /^\W*(?:FAIL|FAILED|not ok)\b[:\s]+\S+(?:\s+[([].*)?$/;

/** What the runner itself says between the lines of a script, such as "[waiting for 127.0.0.1:3000]". */
const runnerLine = /^\[[^\]]*\]$/;
/** From here on, the log has the stages of an earlier release. The runner writes it in English. */
const rollbackLine = /^\[.*\bRolling back to /;

export interface ProbableCause {
  index: number;
  /** False: no line names an error, and this is the last line that the script wrote. */
  namesError: boolean;
}

/**
 * The line that probably says why a step failed: the first that names an error, else the last with output. Of lines that
 * repeat, as those of a health check, it is the first. Null: there is no output.
 * @param title of the segments: a stage (`build`), or a step of it (`build/test`)
 */
export function probableCauseOf(log: LogLines, title: string): ProbableCause | null {
  let last: number | null = null;
  let lastText = "";
  let part: number | null = null;
  for (const segment of log.segments) {
    if (segment.stage === "system" && isRollback(log, segment)) break;
    if (segment.title !== title && segment.stage !== title) continue;
    for (let index = segment.from; index < segment.to; index++) {
      const text = plainText(log.textAt(index)).trim();
      if (text === "" || text === lastText || runnerLine.test(text)) continue;
      if (failedPart.test(text)) part ??= index;
      else if (errorWords.test(text) && !notErrors.test(text)) return { index, namesError: true };
      last = index;
      lastText = text;
    }
  }
  if (part !== null) return { index: part, namesError: true };
  return last === null ? null : { index: last, namesError: false };
}

function isRollback(log: LogLines, { from, to }: { from: number; to: number }): boolean {
  for (let index = from; index < to; index++)
    if (rollbackLine.test(plainText(log.textAt(index)).trim())) return true;
  return false;
}
