import type { ProviderName } from "../../../src/model/webhook-config.ts";

export interface Host {
  label: string;
  /** Above the steps, where "At <label>" would not do. */
  heading?: string;
  /** What to do in the host's own pages, in order; `{url}` and `{secret}` are where ours go. */
  steps: string[];
  /** How the secret travels, for people who look at raw requests. */
  proof: string;
}

/** A Git host as people meet it: where its webhook form is and what to fill in. */
export const hosts: Record<ProviderName, Host> = {
  github: {
    label: "GitHub",
    steps: [
      "Open the repository, then Settings → Webhooks → Add webhook.",
      "Payload URL: the address above. Content type: application/json.",
      "Secret: the secret you generate here.",
      "Which events: “Just the push event”, or choose pushes, branch or tag creation, and pull requests.",
      "Add webhook. GitHub sends a ping at once; it shows up under the address.",
    ],
    proof: "HMAC-SHA256 of the body in X-Hub-Signature-256",
  },
  gitlab: {
    label: "GitLab",
    steps: [
      "Open the project, then Settings → Webhooks → Add new webhook.",
      "URL: the address above. Signing token: the secret you generate here (whsec_…); where the form has none, Secret token.",
      "Trigger: Push events; Tag push events and Merge request events if you allow them here.",
      "Add webhook, then Test → Push events to see it arrive under the address.",
    ],
    proof: "a signature in webhook-signature, or the secret in X-Gitlab-Token",
  },
  gitee: {
    label: "Gitee",
    steps: [
      "Open the repository, then 管理 (Manage) → WebHooks → 添加 (Add).",
      "URL: the address above.",
      "Password: the secret you generate here. The signing key mode works too, with the same secret.",
      "Choose Push, and Tag Push or Pull Request if you allow them here. Save, then 测试 (Test).",
    ],
    proof: "the secret, or its HMAC, in X-Gitee-Token",
  },
  codeup: {
    label: "Alibaba Codeup",
    steps: [
      "Open the repository, then 设置 (Settings) → Webhooks → 新建 (New).",
      "URL: the address above. Secret Token: the secret you generate here.",
      "Choose push events, and tags or merge requests if you allow them here. Save, then test.",
    ],
    proof: "the secret in X-Codeup-Token",
  },
  gitea: {
    label: "Gitea or Forgejo",
    steps: [
      "Open the repository, then Settings → Webhooks → Add webhook → Gitea (or Forgejo).",
      "Target URL: the address above. Method POST, content type application/json.",
      "Secret: the secret you generate here.",
      "Trigger on push events, or choose. Add the webhook, open it and press Test delivery.",
    ],
    proof: "HMAC-SHA256 of the body in X-Gitea-Signature or X-Forgejo-Signature",
  },
  gogs: {
    label: "Gogs",
    steps: [
      "Open the repository, then Settings → Webhooks → Add a new webhook → Gogs.",
      "Payload URL: the address above. Content type: application/json.",
      "Secret: the secret you generate here. Add the webhook, open it and press Test delivery.",
    ],
    proof: "HMAC-SHA256 of the body in X-Gogs-Signature",
  },
  bitbucket: {
    label: "Bitbucket",
    steps: [
      "Open the repository, then Repository settings → Webhooks → Add webhook.",
      "URL: the address above. Secret: the secret you generate here.",
      "Triggers: Repository push; Pull request created, updated and merged if you allow them here. Save.",
      "Data Center: Create webhook instead; Push, and Pull request opened, source branch updated, merged. Test connection.",
    ],
    proof: "HMAC-SHA256 of the body in X-Hub-Signature",
  },
  generic: {
    label: "Anything that can send JSON",
    heading: "In your script, or in the post-receive hook of a bare repository",
    steps: [
      "Send a POST to the address above with content type application/json.",
      "The body: event (push, tag or merge_request), ref, and as far as you know them refType, commit, message, author, paths.",
      "Prove yourself with the secret that you generate here, in the way that you choose below.",
    ],
    proof: "what you choose below",
  },
  hosta: {
    label: "Host A",
    steps: [
      "Open the webhook form of the repository.",
      "URL: the address above, JSON body. Secret: the secret you generate here.",
      "The event arrives in X-HostA-Event: push, create or pull_request.",
    ],
    proof: "HMAC-SHA256 of the body in X-Hub-Signature-256",
  },
  hostb: {
    label: "Host B",
    steps: [
      "Open the webhook form of the repository.",
      "URL: the address above, JSON body. Secret token: the secret you generate here.",
      "The event arrives in X-HostB-Event: Push Hook, Tag Push Hook or Merge Request Hook.",
    ],
    proof: "the secret in X-HostB-Token",
  },
  hostc: {
    label: "Host C",
    steps: [
      "Open the webhook form of the repository.",
      "URL: the address above, JSON body. Secret token: the secret you generate here.",
      "The event arrives in X-HostC-Event.",
    ],
    proof: "the secret in X-HostC-Token",
  },
  hostd: {
    label: "Host D",
    steps: [
      "Open the webhook form of the repository.",
      "URL: the address above, JSON body. Secret token: the secret you generate here.",
      "The event arrives in HostD-Event.",
    ],
    proof: "the secret in X-HostD-Token",
  },
};

export const hostChoices = Object.entries(hosts).map(([value, { label }]) => ({ value, label }));

export function isHostName(name: string | null): name is ProviderName {
  return name !== null && name in hosts;
}
