import { createHmac } from "node:crypto";

export const commit = (name: string) => createHmac("sha1", "commit").update(name).digest("hex");
export const hmac = (secret: string, body: string, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", secret).update(body).digest(encoding);

function githubPush(branch: string, message: string) {
  const id = commit(branch + message);
  const head = { id, message, author: { name: "Ann" }, added: ["a.ts"], modified: ["src/b.ts"], removed: [] };
  return {
    ref: `refs/heads/${branch}`,
    before: "0".repeat(40),
    after: id,
    deleted: false,
    pusher: { name: "ann", username: "ann" },
    repository: { full_name: "example/shop", default_branch: "main" },
    commits: [head],
    head_commit: head,
  };
}

const gitlabPush = (branch: string, message: string) => ({
  object_kind: "push",
  before: "0".repeat(40),
  after: commit(branch + message),
  checkout_sha: commit(branch + message),
  ref: `refs/heads/${branch}`,
  user_username: "ann",
  user_name: "Ann",
  commits: [{ id: commit(branch + message), message, added: ["a.ts"], modified: [], removed: [] }],
  total_commits_count: 1,
});

const bitbucketPush = (branch: string, message: string) => ({
  actor: { nickname: "ann" },
  push: {
    changes: [
      {
        new: {
          type: "branch",
          name: branch,
          target: { hash: commit(branch + message), message, author: { raw: "Ann <ann@example.com>" } },
        },
        old: null,
      },
    ],
  },
});

export const genericPush = (branch: string, message: string) => ({
  event: "push",
  ref: `refs/heads/${branch}`,
  commit: commit(branch + message),
  message,
  author: "ann",
  paths: ["src/a.ts"],
});

export interface HostRow {
  config: Record<string, unknown>;
  payload: (branch: string, message: string) => unknown;
  headers: (secret: string, body: string) => Record<string, string>;
}

export const hosts: Record<string, HostRow> = {
  github: {
    config: { provider: "github", branchFilter: ["main", "release/**"], skipCiKeyword: "[skip ci]" },
    payload: githubPush,
    headers: (secret, body) => ({
      "x-github-event": "push",
      "x-github-delivery": crypto.randomUUID(),
      "x-hub-signature-256": `sha256=${hmac(secret, body)}`,
    }),
  },
  gitlab: {
    config: { provider: "gitlab", events: ["push", "tag"] },
    payload: gitlabPush,
    headers: (secret) => ({
      "x-gitlab-event": "Push Hook",
      "x-gitlab-token": secret,
      "idempotency-key": crypto.randomUUID(),
    }),
  },
  gitea: {
    config: { provider: "gitea" },
    payload: githubPush,
    headers: (secret, body) => ({
      "x-gitea-event": "push",
      "x-gitea-delivery": crypto.randomUUID(),
      "x-gitea-signature": hmac(secret, body),
    }),
  },
  bitbucket: {
    config: { provider: "bitbucket" },
    payload: bitbucketPush,
    headers: (secret, body) => ({
      "x-event-key": "repo:push",
      "x-request-uuid": crypto.randomUUID(),
      "x-hub-signature": `sha256=${hmac(secret, body)}`,
    }),
  },
  gitee: {
    config: { provider: "gitee" },
    payload: gitlabPush,
    headers: (secret) => ({ "x-gitee-event": "Push Hook", "x-gitee-token": secret }),
  },
  hosta: {
    config: { provider: "hosta" },
    payload: githubPush,
    headers: (secret, body) => ({
      "x-hosta-event": "push",
      "x-hosta-delivery": crypto.randomUUID(),
      "x-hub-signature-256": `sha256=${hmac(secret, body)}`,
    }),
  },
  generic: {
    config: {
      provider: "generic",
      verifyMode: "hmac",
      signatureEncoding: "base64",
      secretHeader: "X-Signature",
    },
    payload: genericPush,
    headers: (secret, body) => ({
      "x-signature": hmac(secret, body, "base64"),
      "x-delivery-id": crypto.randomUUID(),
    }),
  },
};
