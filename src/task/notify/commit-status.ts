import { isCommit } from "../../model/git-ref.ts";
import { gitAddressOf } from "../../model/git-url.ts";
import type { NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { Task, TaskState } from "../../model/task.ts";
import type { ProviderName } from "../../model/webhook-config.ts";

type StatusHost = "github" | "gitlab" | "gitea";

const statusHostOf: Partial<Record<ProviderName, StatusHost>> = {
  github: "github",
  gitlab: "gitlab",
  gitea: "gitea",
};

const context = "slipway";

const stateWords = {
  queued: { github: "pending", gitlab: "pending", gitea: "pending" },
  dispatched: { github: "pending", gitlab: "pending", gitea: "pending" },
  running: { github: "pending", gitlab: "running", gitea: "pending" },
  canceling: { github: "pending", gitlab: "running", gitea: "pending" },
  success: { github: "success", gitlab: "success", gitea: "success" },
  failed: { github: "failure", gitlab: "failed", gitea: "failure" },
  canceled: { github: "error", gitlab: "canceled", gitea: "error" },
  timeout: { github: "failure", gitlab: "failed", gitea: "failure" },
  lost: { github: "error", gitlab: "failed", gitea: "error" },
} as const satisfies Record<TaskState, Record<StatusHost, string>>;

/** The call that shows a task's state beside its commit at the Git host; null when there is nothing to tell it. */
export function commitStatusCall(
  task: Task,
  project: Project,
  provider: ProviderName,
  taskUrl: string,
): NewOutgoingCall | null {
  const place = placeOf(project.git.url);
  const host = statusHostOf[provider] ?? (place ? guessHost(place.origin) : null);
  // The request carries a token, so only a commit id may become part of its URL.
  if (!place || !host || task.commit === null || !isCommit(task.commit)) return null;
  const state = stateWords[task.state][host];
  const description = (task.reason || `Task ${task.id}: ${task.state}`).slice(0, 140);
  const subject = `commit status ${task.projectId} ${task.commit}`;
  const common = { projectId: project.id, kind: "commit status", subject, messageId: "" } as const;
  if (host === "gitlab")
    return {
      ...common,
      url: `${place.origin}/api/v4/projects/${encodeURIComponent(place.path)}/statuses/${task.commit}`,
      proof: "private-token",
      body: JSON.stringify({ state, description, target_url: taskUrl, name: context }),
    };
  const path = place.path.split("/").map(encodeURIComponent).join("/");
  return {
    ...common,
    url: `${apiOf(host, place.origin)}/repos/${path}/statuses/${task.commit}`,
    proof: host === "gitea" ? "token" : "bearer",
    body: JSON.stringify({ state, description, target_url: taskUrl, context }),
  };
}

/** Whether a call goes to the current server of the project's repository; otherwise it must not carry the token. */
export function isStatusAddressOf(project: Pick<Project, "git">, callUrl: string): boolean {
  const place = placeOf(project.git.url);
  if (place === null || !URL.canParse(callUrl)) return false;
  const apis = [place.origin, new URL(apiOf("github", place.origin)).origin];
  return apis.includes(new URL(callUrl).origin);
}

function apiOf(host: "github" | "gitea", origin: string): string {
  if (host === "gitea") return `${origin}/api/v1`;
  return origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`;
}

function guessHost(origin: string): StatusHost | null {
  const { hostname } = new URL(origin);
  if (hostname === "github.com") return "github";
  if (hostname === "gitlab.com") return "gitlab";
  return hostname === "codeberg.org" || hostname === "gitea.com" ? "gitea" : null;
}

/** Web address and path of the repository, from any form of its clone URL. */
function placeOf(cloneUrl: string): { origin: string; path: string } | null {
  const place = placeIn(cloneUrl);
  return place === null || place.path.split("/").some((part) => part === "." || part === "..") ? null : place;
}

function placeIn(cloneUrl: string): { origin: string; path: string } | null {
  const address = gitAddressOf(cloneUrl);
  if (address === null || address.scheme === "git") return null;
  const { scheme, host, port, path } = address;
  const site = scheme === "ssh" ? `https://${host}` : `${scheme}://${host}:${port}`;
  return URL.canParse(site) ? { origin: new URL(site).origin, path: trimmed(path) } : null;
}

function trimmed(path: string): string {
  return decoded(path)
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "");
}

/** A path with invalid encoding is kept as it is. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
