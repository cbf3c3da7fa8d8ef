import { Fault } from "../errors.ts";
import type {
  Delivery,
  DeliveryCode,
  DeliveryKeeper,
  DeliveryPlace,
  DeliveryStatus,
  DeliverySummary,
} from "../model/delivery.ts";
import type { Project } from "../model/project.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { deliveryKinds } from "./decide/delivery-kind.ts";
import { applyFilters, maxFilterSteps, newFilterWork, stepsOf } from "./decide/filters.ts";
import { outcomes } from "./decide/outcome.ts";
import { summaryOf } from "./decide/record.ts";
import { type Rules, rulesOf } from "./hook/compiled-rules.ts";

export interface Judgement {
  status: DeliveryStatus;
  code: DeliveryCode;
  reason: Reason;
}

export interface WhatIfItem {
  delivery: DeliverySummary;
  /** Under the saved configuration. */
  saved: Judgement;
  /** Under the proposed configuration. */
  proposed: Judgement;
  changes: boolean;
}

/** A delivery may list thousands of files, so only few are loaded at a time, and other requests run in between. */
const readAtOnce = 5;
/** Work limit of one request: five times the limit of one delivery. */
const maxSteps = 5 * maxFilterSteps;

/**
 * Evaluates the last deliveries of a project again, under the saved and under a proposed configuration. Only the
 * filters are evaluated: debounce and queue depended on the moment.
 */
export async function whatIf(
  project: Project,
  deliveries: Pick<DeliveryKeeper, "latest">,
  savedConfig: WebhookConfig,
  proposedConfig: WebhookConfig,
  last: number,
): Promise<WhatIfItem[]> {
  const savedRules = rulesOf(savedConfig, project);
  const proposedRules = rulesOf(proposedConfig, project);
  const items: WhatIfItem[] = [];
  let place: DeliveryPlace | null = null;
  let steps = 0;
  for (let left = last; left > 0; left -= readAtOnce) {
    const ofProject = { projectId: savedConfig.projectId };
    const found: Delivery[] = await deliveries.latest(ofProject, Math.min(left, readAtOnce), place);
    for (const delivery of found) {
      const saved = judge(delivery, savedRules);
      const proposed = judge(delivery, proposedRules);
      if (saved === null || proposed === null) continue;
      steps += saved.steps + proposed.steps;
      if (steps > maxSteps) throw new Fault("invalid", newReason("what_if_complex"));
      items.push({
        delivery: summaryOf(delivery),
        saved: saved.judgement,
        proposed: proposed.judgement,
        changes: saved.judgement.code !== proposed.judgement.code,
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    place = found.at(-1) ?? null;
    if (found.length < readAtOnce) break;
  }
  return items;
}

function judge({ normalized }: Delivery, rules: Rules): { judgement: Judgement; steps: number } | null {
  if (normalized === null) return null;
  const work = newFilterWork();
  const { stoppedBy } = applyFilters(normalized, rules, deliveryKinds.dryRun, work);
  const judgement: Judgement =
    stoppedBy === null
      ? { status: "accepted", code: "accepted", reason: newReason("all_passed") }
      : { status: outcomes[stoppedBy.code].status, code: stoppedBy.code, reason: stoppedBy.reason };
  return { judgement, steps: stepsOf(work) };
}
