import type { ProviderName } from "../../git-host/hosts.ts";
import { statusApiFor, statusApiOf } from "../../git-host/recognise.ts";
import type { StatusReport, StatusState } from "../../git-host/status/status-api.ts";
import { ownerIdOf } from "../../model/environment/environment.ts";
import { isCommit } from "../../model/git/git-ref.ts";
import { gitAddressOf } from "../../model/git/git-url.ts";
import { repositoryPlaceOf } from "../../model/git/repository-place.ts";
import type { CallAddress, NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";

const maxDescription = 140;

type Reported = Pick<Project, "id" | "parentId" | "git" | "commitStatus">;

/** The call that sets a task's state as the commit's status at the Git host; null: the host has no API for it. */
export function commitStatusCall(
  task: Pick<Task, "id" | "commit" | "reason"> & { state: StatusState },
  project: Reported,
  provider: ProviderName,
  targetUrl: string,
): NewOutgoingCall | null {
  const description = renderReason(task.reason) || `Task ${task.id}: ${task.state}`;
  return callOf({ state: task.state, commit: task.commit, description, targetUrl }, project, provider);
}

/** The call that reports why a filter excluded a push. It is sent only if the commit has no status of this context. */
export function skippedStatusCall(
  push: { commit: string; reason: Reason },
  project: Reported,
  provider: ProviderName,
  targetUrl: string,
): NewOutgoingCall | null {
  const description = `Skipped: ${renderReason(push.reason)}`;
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

/** Whether the Git host of a project accepts commit statuses. */
export function hasStatusApi({ git }: Pick<Project, "git">, provider: ProviderName): boolean {
  const place = repositoryPlaceOf(git.url);
  return place !== null && statusApiFor(place, provider) !== null;
}

/** Whether a call goes to the server that takes the statuses of the repository now; otherwise it must not contain the token. */
export function isStatusAddressOf(
  { git }: Pick<Project, "git">,
  { url, proof }: Pick<NewOutgoingCall, "url" | "proof">,
): boolean {
  const place = repositoryPlaceOf(git.url);
  const api = statusApiOf(proof);
  if (place === null || api === null || !URL.canParse(url)) return false;
  return new URL(api.urlOf(place, "")).origin === new URL(url).origin;
}

/**
 * Where a call is sent. An ssh clone URL does not tell the web address of its server, and the call names https: a trusted
 * origin of the same host is that address.
 */
export function statusUrlOf({ git }: Pick<Project, "git">, url: string, trusted: readonly string[]): string {
  const { origin, hostname } = new URL(url);
  if (gitAddressOf(git.url)?.scheme !== "ssh" || trusted.includes(origin)) return url;
  const own = trusted.find((each) => new URL(each).hostname === hostname);
  return own === undefined ? url : `${own}${url.slice(origin.length)}`;
}

function callOf(
  report: Omit<StatusReport, "context" | "commit"> & { commit: string | null },
  project: Reported,
  provider: ProviderName,
): NewOutgoingCall | null {
  const place = repositoryPlaceOf(project.git.url);
  const api = place && statusApiFor(place, provider);
  const { commit } = report;
  // The request carries a token, so only a commit id may become part of its URL.
  if (!place || !api || commit === null || !isCommit(commit)) return null;
  const description = report.description.slice(0, maxDescription);
  const body = api.bodyOf({ ...report, description, commit, context: project.commitStatus.context });
  return {
    projectId: ownerIdOf(project),
    kind: "commit status",
    event: report.state,
    subject: `commit status ${project.id} ${commit}`,
    targetId: null,
    messageId: "",
    url: api.urlOf(place, commit),
    proof: api.proof,
    body: JSON.stringify(body),
  };
}
