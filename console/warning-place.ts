import type { Sentence } from "../src/reason/reason.ts";

/** Where the settings of a project change what a warning is about. */
const places: Readonly<Record<string, string>> = {
  warn_no_base_url: "rules#address",
  warn_twice: "rules#host",
  warn_no_secret: "rules#secret",
  warn_tag_filter: "rules#rules",
  warn_branch_filter: "rules#rules",
  warn_any_branch: "rules#rules",
  warn_any_branch_unnamed: "rules#rules",
  warn_merge_requests: "rules#rules",
  warn_debounce: "rules#rules",
  warn_other_repository: "rules#rules",
  warn_other_repository_enforce: "rules#rules",
  warn_not_polled: "source",
  warn_disk: "pipeline#execution",
  warn_status: "notifications#commit-status",
  warn_status_hidden: "notifications#commit-status",
};

/** The section of the settings, and the form in it, in which the cause of a warning about a project is changed. */
export function warningPlace(parts: readonly Sentence[] = []): string {
  return parts.map(({ code }) => places[code]).find(Boolean) ?? "pipeline";
}
