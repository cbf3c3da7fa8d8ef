import type { ProviderName } from "../../git-host/hosts.ts";
import { isCommit } from "../../model/git/git-ref.ts";
import { type RepositoryPlace, repositoryPlaceOf } from "../../model/git/repository-place.ts";
import type { CallAddress, NewOutgoingCall, StatusProof } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import {
  bitbucketOrigin,
  type StatusReport,
  type StatusState,
  statusHosts,
  statusOriginsOf,
} from "./status-hosts.ts";

const proofOfProvider: Partial<Record<ProviderName, StatusProof>> = {
  github: "bearer",
  gitlab: "private-token",
  gitea: "token",
  gitee: "gitee-token",
  codeup: "yunxiao-token",
  bitbucket: "bitbucket-server",
};

const proofOfHostname: ReadonlyMap<string, StatusProof> = new Map<string, StatusProof>([
  ["github.com", "bearer"],
  ["gitlab.com", "private-token"],
  ["codeberg.org", "token"],
  ["gitea.com", "token"],
  ["gitee.com", "gitee-token"],
  ["codeup.aliyun.com", "yunxiao-token"],
]);

type Reported = Pick<Project, "id" | "git" | "commitStatus">;

/** The call that sets a task's state as the commit's status at the Git host; null: the host has no API for it. */
export function commitStatusCall(
  task: Pick<Task, "id" | "commit" | "reason"> & { state: StatusState },
  project: Reported,
  provider: ProviderName,
  targetUrl: string,
): NewOutgoingCall | null {
  const description = task.reason || `Task ${task.id}: ${task.state}`;
  return callOf({ state: task.state, commit: task.commit, description, targetUrl }, project, provider);
}

/** The call that reports why a filter excluded a push. It is sent only if the commit has no status of this context. */
export function skippedStatusCall(
  push: { commit: string; reason: string },
  project: Reported,
  provider: ProviderName,
  targetUrl: string,
): NewOutgoingCall | null {
  const description = `Skipped: ${push.reason}`;
  const call = callOf({ state: "skipped", commit: push.commit, description, targetUrl }, project, provider);
  // A separate subject: it must not replace a waiting status of a task.
  return call && { ...call, subject: `${call.subject}${skippedSubject}` };
}

const skippedSubject = " skipped";

/** Statuses of one commit are sent one after the other, including those of excluded pushes. */
export function laneOf({ subject, targetId, url }: CallAddress): string {
  return subject?.replace(skippedSubject, "") ?? targetId ?? url;
}

export function isSkippedStatus({ subject }: Pick<NewOutgoingCall, "subject">): boolean {
  return subject?.endsWith(skippedSubject) ?? false;
}

/** The API for a project's statuses; null: none. */
export function statusProofOf(project: Pick<Project, "git">, provider: ProviderName): StatusProof | null {
  const place = repositoryPlaceOf(project.git.url);
  return place && proofFor(place, provider);
}

/** Whether a call goes to the current server of the project's repository; otherwise it must not contain the token. */
export function isStatusAddressOf(project: Pick<Project, "git">, callUrl: string): boolean {
  const place = repositoryPlaceOf(project.git.url);
  if (place === null || !URL.canParse(callUrl)) return false;
  return statusOriginsOf(place.origin).includes(new URL(callUrl).origin);
}

function callOf(
  report: Omit<StatusReport, "context" | "commit"> & { commit: string | null },
  project: Reported,
  provider: ProviderName,
): NewOutgoingCall | null {
  const place = repositoryPlaceOf(project.git.url);
  const proof = place && proofFor(place, provider);
  const { commit } = report;
  // The request carries a token, so only a commit id may become part of its URL.
  if (!place || !proof || commit === null || !isCommit(commit)) return null;
  const host = statusHosts[proof];
  const whole = { ...report, commit, context: project.commitStatus.context };
  return {
    projectId: project.id,
    kind: "commit status",
    event: report.state,
    subject: `commit status ${project.id} ${commit}`,
    targetId: null,
    messageId: "",
    url: host.urlOf(place, whole),
    proof,
    body: JSON.stringify(host.bodyOf(whole)),
  };
}

function proofFor({ origin }: RepositoryPlace, provider: ProviderName): StatusProof | null {
  if (origin === bitbucketOrigin) return "bitbucket";
  return proofOfProvider[provider] ?? proofOfHostname.get(new URL(origin).hostname) ?? null;
}
