import type { Sentence } from "../src/reason/reason.ts";

/** Panels of the webhook page. */
const webhookPanels: Readonly<Record<string, string>> = {
  warn_no_base_url: "address",
  warn_twice: "host",
  warn_no_secret: "secret",
  warn_tag_filter: "rules",
  warn_branch_filter: "rules",
  warn_any_branch: "rules",
  warn_any_branch_unnamed: "rules",
  warn_merge_requests: "rules",
  warn_debounce: "rules",
  warn_other_repository: "rules",
  warn_other_repository_enforce: "rules",
};

/** Sections of the settings. */
const sections: Readonly<Record<string, string>> = {
  warn_not_polled: "general",
  warn_disk: "execution",
  warn_status: "commit-status",
  warn_status_hidden: "commit-status",
};

/** The form in which the cause of a warning about a project is changed. */
export function warningPlace(parts: readonly Sentence[] = []): {
  page: "webhook" | "settings";
  path: string;
} {
  const codes = parts.map(({ code }) => code);
  const panel = codes.map((code) => webhookPanels[code]).find(Boolean);
  if (panel !== undefined) return { page: "webhook", path: `webhook#${panel}` };
  const section = codes.map((code) => sections[code]).find(Boolean) ?? "stages";
  return { page: "settings", path: `settings/${section}` };
}
