import { BoundedMap } from "../../bounded-map.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { DeliveryCode, DeliverySummary } from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import { SlidingWindow } from "../../rate-limit.ts";
import { skippedStatusCall } from "./commit-status.ts";
import { deliveryNotice } from "./notice.ts";
import { type Notifier, targetsOf } from "./notifier.ts";
import type { Outbox } from "./outbox.ts";
import type { HasStatusToken } from "./status-tokens.ts";

export interface DeliveryNewsParts {
  keepers: Pick<Keepers, "projects" | "webhookConfigs">;
  notifier: Notifier;
  outbox: Pick<Outbox, "send">;
  hasStatusToken: HasStatusToken;
  elapsedMs: () => number;
  consoleUrl: () => string;
  log: Log;
}

/**
 * Anyone who knows an endpoint can cause rejected deliveries: targets receive one message in this time, which counts
 * the others.
 */
const quietMs = 5 * 60_000;
const maxProjects = 10_000;
/** Limit of deliveries that wait to be reported. */
const maxWaiting = 1000;

/** Codes of pushes that a project rule excluded. */
const filtered: readonly DeliveryCode[] = [
  "event_not_allowed",
  "branch_not_matched",
  "tag_not_matched",
  "path_not_matched",
  "skip_keyword",
  "queue_busy",
];

/** Reports recorded deliveries to notification targets and to the Git host. */
export function buildDeliveryNews(parts: DeliveryNewsParts) {
  const { keepers } = parts;
  const sent = new SlidingWindow<string>(1, quietMs);
  const unreported = new BoundedMap<string, number>(maxProjects);
  const running = new Set<Promise<void>>();

  async function report(delivery: DeliverySummary): Promise<void> {
    const project = await keepers.projects.byId(delivery.project_id);
    if (project === null) return;
    if (delivery.status === "ignored") return reportSkipped(delivery, project);
    notify(delivery.status === "failed" ? "delivery.failed" : "delivery.rejected", delivery, project);
  }

  function notify(
    event: "delivery.rejected" | "delivery.failed",
    delivery: DeliverySummary,
    project: Project,
  ): void {
    if (targetsOf(project, event).length === 0) return;
    const key = `${project.id} ${event}`;
    if (sent.take(key, parts.elapsedMs()) !== null) {
      unreported.set(key, (unreported.get(key) ?? 0) + 1);
      return;
    }
    parts.notifier.send(deliveryNotice(event, delivery, project, unreported.get(key) ?? 0), project);
    unreported.delete(key);
  }

  async function reportSkipped(delivery: DeliverySummary, project: Project): Promise<void> {
    if (!project.commitStatus.skipped || !(await parts.hasStatusToken(project.id))) return;
    const provider = (await keepers.webhookConfigs.ofProject(project.id))?.provider ?? "generic";
    const page = `${parts.consoleUrl()}/deliveries/${delivery.id}`;
    const call = skippedStatusCall(delivery, project, provider, page);
    if (call) parts.outbox.send(call);
  }

  return {
    recorded(delivery: DeliverySummary): void {
      if (!isNews(delivery) || running.size >= maxWaiting) return;
      const done = report(delivery)
        .catch((error: unknown) =>
          parts.log.error(
            { deliveryId: delivery.id, error: messageOf(error) },
            "a delivery could not be reported",
          ),
        )
        .finally(() => running.delete(done));
      running.add(done);
    },
    /** Resolves when all reports are stored. */
    async flushed(): Promise<void> {
      await Promise.all(running);
    },
  };
}

/** Tests and replays are started by people, who see the outcome. */
function isNews({ project_id, status, code, event, remote_ip }: DeliverySummary): boolean {
  if (project_id === 0 || remote_ip === "test" || remote_ip === "replay") return false;
  if (status === "rejected" || status === "failed") return true;
  return status === "ignored" && event !== "merge_request" && filtered.includes(code);
}
