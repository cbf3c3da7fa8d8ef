import type { NormalizedEvent } from "../../model/delivery.ts";
import type { MatchWork } from "../../model/glob.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { type Rules, textOf } from "../hook/compiled-rules.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/**
 * Filter step 3: a changed path matches. Three-valued: a list that the host truncated or omitted neither matches nor fails to match, and must not prevent a
 * deploy.
 */
export function matchPaths(
  event: NormalizedEvent,
  rules: Rules,
  trace: Trace,
  work: MatchWork,
): Outcome | null {
  if (rules.paths.length === 0) {
    trace.add("path", "pass", renderReason(countOf(event.paths)), "", newReason("no_path_filter"));
    return null;
  }
  const listed = textOf(rules.paths);
  const { paths } = event;
  if (paths === null) {
    const detail = newReason("paths_unknown", { why: event.pathsUnknownBecause ?? "null" });
    trace.add("path", "unknown", "", listed, detail);
    return null;
  }
  for (const pattern of rules.paths) {
    const path = paths.find((text) => pattern.matches(text, work));
    if (path === undefined) continue;
    trace.add("path", "pass", path, pattern.text, newReason("path_matches", { path, pattern: pattern.text }));
    return null;
  }
  if (work.left < 0) {
    const files = countOf(paths);
    const detail = newReason("paths_too_complex", { files });
    trace.add("path", "unknown", renderReason(files), listed, detail);
    return null;
  }
  const reason = newReason("path_not_matched", { files: countOf(paths), patterns: listed });
  trace.add("path", "stop", paths.slice(0, 5).join(", "), listed, reason);
  return { code: "path_not_matched", reason };
}

function countOf(paths: string[] | null): Reason {
  if (paths === null) return "unknown";
  return paths.length === 1 ? newReason("one_file") : newReason("many_files", { number: paths.length });
}
