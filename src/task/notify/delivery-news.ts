import type { DeliveryCode, DeliverySummary, Followed } from "../../model/delivery.ts";
import type { AddedCall, NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { skippedStatusCall } from "./commit-status.ts";
import { defaultTargetFor } from "./default-target.ts";
import { deliveryNotice } from "./notice.ts";
import { notificationCalls, targetsOf } from "./notifications.ts";
import { hasStatusToken } from "./report-task.ts";
import { storeCalls } from "./store-calls.ts";

/**
 * Anyone who knows an endpoint can cause rejected deliveries: targets receive one message in this time, which counts
 * the others.
 */
const quietMs = 5 * 60_000;
/** How long deliveries that were not reported are counted. */
const countedMs = 24 * 3_600_000;

/** Codes of pushes that a project rule excluded. */
const filtered: readonly DeliveryCode[] = [
  "event_not_allowed",
  "branch_not_matched",
  "tag_not_matched",
  "path_not_matched",
  "skip_keyword",
  "queue_busy",
];

type Recorded = Omit<DeliverySummary, "repeat_of" | Followed>;
type NewsKeepers = Pick<
  OperationKeepers,
  "projects" | "webhookConfigs" | "attempts" | "outgoingCalls" | "meta" | "now"
>;

/** Reports a recorded delivery to notification targets and to the Git host, in the transaction that records it. */
export async function reportDelivery(
  keepers: NewsKeepers,
  delivery: Recorded,
  project: Project,
  consoleUrl: string,
  traceparent: string | null,
): Promise<AddedCall[]> {
  if (!isNews(delivery)) return [];
  const calls =
    delivery.status === "ignored"
      ? await skippedStatus(keepers, delivery, project, consoleUrl)
      : await refusal(keepers, delivery, project, consoleUrl);
  return storeCalls(keepers, calls, traceparent);
}

async function refusal(
  keepers: NewsKeepers,
  delivery: Recorded,
  project: Project,
  consoleUrl: string,
): Promise<NewOutgoingCall[]> {
  const event = delivery.status === "failed" ? "delivery.failed" : "delivery.rejected";
  const targets = targetsOf(project, event, await defaultTargetFor(keepers.meta, project));
  if (targets.length === 0) return [];
  const { attempts } = keepers;
  const now = keepers.now();
  const key = `${event} of project ${project.id}`;
  const unreportedKey = `${key}, not reported`;
  const { count } = await attempts.count(key, now, quietMs);
  const { count: unreported } = await attempts.count(unreportedKey, now, countedMs);
  if (count > 1) return [];
  await attempts.forget(unreportedKey);
  const notice = deliveryNotice(event, delivery, project, unreported - 1);
  return notificationCalls(notice, project, targets, { now, consoleUrl });
}

async function skippedStatus(
  keepers: NewsKeepers,
  delivery: Recorded,
  project: Project,
  consoleUrl: string,
): Promise<NewOutgoingCall[]> {
  if (!project.commitStatus.skipped || !(await hasStatusToken(keepers, project.id))) return [];
  const provider = (await keepers.webhookConfigs.ofProject(project.id))?.provider ?? "generic";
  const page = `${consoleUrl}/deliveries/${delivery.id}`;
  const call = skippedStatusCall(delivery, project, provider, page);
  return call === null ? [] : [call];
}

/** Tests and replays are started by people, who see the outcome. */
export function isNews({ project_id, status, code, event, remote_ip }: Omit<Recorded, "id">): boolean {
  if (project_id === 0 || remote_ip === "test" || remote_ip === "replay") return false;
  if (status === "rejected" || status === "failed") return true;
  return status === "ignored" && event !== "merge_request" && filtered.includes(code);
}
