import type { EventKind } from "./payloads.ts";

/** Events by their names at GitHub, which other hosts adopted. */
export const githubEvents = {
  push: "push",
  create: "create",
  delete: "delete",
  pull_request: "merge_request",
  ping: "ping",
} as const satisfies Record<string, EventKind>;

/** Events by their names at GitLab, which other hosts adopted. */
export const gitlabEvents = {
  "push hook": "push",
  "tag push hook": "tag",
  "merge request hook": "merge_request",
  "system hook": "by_body",
} as const satisfies Record<string, EventKind>;
