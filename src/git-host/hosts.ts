import type { ProviderName } from "../model/webhook-config.ts";
import { standardHeaders } from "../standard-webhooks.ts";
import {
  type EventKind,
  type PayloadParser,
  parseGenericPayload,
  parseHostPayload,
} from "./delivery/payloads.ts";
import type { SignatureScheme } from "./proof/signature.ts";

/** A Git host. To add one, add a row. */
export interface GitHost {
  title: string;
  /** The first header that was sent counts. Empty list: the body names the event. */
  eventHeaders: readonly string[];
  /** By event name in lower case. Other events never start a build. */
  events: Readonly<Record<string, EventKind>>;
  deliveryIdHeaders: readonly string[];
  signature: SignatureScheme;
  parse: PayloadParser;
}

const githubEvents = {
  push: "push",
  create: "create",
  delete: "delete",
  pull_request: "merge_request",
  ping: "ping",
} as const;

const gitlabEvents = {
  "push hook": "push",
  "tag push hook": "tag",
  "merge request hook": "merge_request",
  "system hook": "by_body",
} as const;

export const gitHosts = {
  hosta: {
    title: "Host A",
    eventHeaders: ["X-HostA-Event"],
    events: githubEvents,
    deliveryIdHeaders: ["X-HostA-Delivery"],
    signature: { type: "hmac", headers: ["X-Hub-Signature-256"], prefix: "sha256=" },
    parse: parseHostPayload,
  },
  hostb: {
    title: "Host B",
    eventHeaders: ["X-HostB-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: ["Idempotency-Key"],
    signature: { type: "token", headers: ["X-HostB-Token"] },
    parse: parseHostPayload,
  },
  hostc: {
    title: "Host C",
    eventHeaders: ["X-HostC-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: [],
    signature: { type: "token", headers: ["X-HostC-Token"] },
    parse: parseHostPayload,
  },
  hostd: {
    title: "Host D",
    eventHeaders: ["HostD-Event", "X-HostD-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: [],
    signature: { type: "token", headers: ["X-HostD-Token"] },
    parse: parseHostPayload,
  },
  generic: {
    title: "Any sender",
    eventHeaders: [],
    events: {},
    deliveryIdHeaders: ["X-Delivery-Id", "Idempotency-Key", standardHeaders.id],
    signature: { type: "configured" },
    parse: parseGenericPayload,
  },
  github: {
    title: "GitHub",
    eventHeaders: ["X-GitHub-Event"],
    events: githubEvents,
    deliveryIdHeaders: ["X-GitHub-Delivery"],
    signature: { type: "hmac", headers: ["X-Hub-Signature-256"], prefix: "sha256=" },
    parse: parseHostPayload,
  },
  gitlab: {
    title: "GitLab",
    eventHeaders: ["X-Gitlab-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: [
      "Idempotency-Key",
      standardHeaders.id,
      "X-Gitlab-Webhook-UUID",
      "X-Gitlab-Event-UUID",
    ],
    signature: { type: "token", headers: ["X-Gitlab-Token"], orStandard: true },
    parse: parseHostPayload,
  },
  gitee: {
    title: "Gitee",
    eventHeaders: ["X-Gitee-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: [],
    signature: { type: "gitee", headers: ["X-Gitee-Token"], timestampHeader: "X-Gitee-Timestamp" },
    parse: parseHostPayload,
  },
  codeup: {
    title: "Codeup",
    eventHeaders: ["Codeup-Event", "X-Codeup-Event"],
    events: gitlabEvents,
    deliveryIdHeaders: [],
    signature: { type: "token", headers: ["X-Codeup-Token"] },
    parse: parseHostPayload,
  },
  gogs: {
    title: "Gogs",
    eventHeaders: ["X-Gogs-Event"],
    events: githubEvents,
    deliveryIdHeaders: ["X-Gogs-Delivery"],
    signature: { type: "hmac", headers: ["X-Gogs-Signature"], prefix: "", signsFormPayload: true },
    parse: parseHostPayload,
  },
  gitea: {
    title: "Gitea, Forgejo",
    eventHeaders: ["X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event"],
    events: { ...githubEvents, pull_request_sync: "merge_request" },
    deliveryIdHeaders: ["X-Gitea-Delivery", "X-Forgejo-Delivery"],
    signature: {
      type: "hmac",
      headers: ["X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"],
      prefix: "sha256=",
      signsFormPayload: true,
    },
    parse: parseHostPayload,
  },
  bitbucket: {
    title: "Bitbucket",
    eventHeaders: ["X-Event-Key"],
    events: {
      "repo:push": "push",
      "pullrequest:created": "merge_request",
      "pullrequest:updated": "merge_request",
      "pullrequest:fulfilled": "merge_request",
      "pullrequest:rejected": "merge_request",
      "repo:refs_changed": "push",
      "pr:opened": "merge_request",
      "pr:from_ref_updated": "merge_request",
      "pr:modified": "merge_request",
      "pr:merged": "merge_request",
      "pr:declined": "merge_request",
      "diagnostics:ping": "ping",
    },
    deliveryIdHeaders: ["X-Request-UUID", "X-Request-Id"],
    signature: { type: "hmac", headers: ["X-Hub-Signature"], prefix: "sha256=" },
    parse: parseHostPayload,
  },
} as const satisfies Record<ProviderName, GitHost>;

export function gitHostOf(name: ProviderName): GitHost {
  return gitHosts[name];
}
