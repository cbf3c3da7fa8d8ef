import type { Delivery, DeliveryCode, DeliveryKeeper, DeliveryStatus } from "../model/delivery.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import { filter } from "./filters.ts";
import { outcomes } from "./outcome.ts";
import { chooseRef } from "./ref-choice.ts";
import { type Rules, rulesOf } from "./rules.ts";
import { newTrace } from "./trace.ts";
import { waysIn } from "./ways-in.ts";

export interface Judgement {
  status: DeliveryStatus;
  code: DeliveryCode;
  reason: string;
}

export interface WhatIfItem {
  delivery: Delivery;
  /** Under the saved configuration. */
  saved: Judgement;
  /** Under the one that was asked about. */
  proposed: Judgement;
  changes: boolean;
}

/**
 * Judges the last deliveries of a project again, under the saved and under another configuration. Only the filters are
 * asked: what debounce and queue did then depended on the moment.
 */
export async function whatIf(
  deliveries: Pick<DeliveryKeeper, "latest">,
  savedConfig: WebhookConfig,
  proposedConfig: WebhookConfig,
  last: number,
  debounceSeconds: number,
): Promise<WhatIfItem[]> {
  const savedRules = rulesOf(savedConfig, debounceSeconds);
  const proposedRules = rulesOf(proposedConfig, debounceSeconds);
  const found = await deliveries.latest({ projectId: savedConfig.projectId }, last);
  return found.flatMap((delivery) => {
    const saved = judge(delivery, savedRules);
    const proposed = judge(delivery, proposedRules);
    return saved && proposed ? [{ delivery, saved, proposed, changes: saved.code !== proposed.code }] : [];
  });
}

function judge({ normalized }: Delivery, rules: Rules): Judgement | null {
  if (normalized === null) return null;
  const { event } = chooseRef(normalized, rules, waysIn.dryRun, newTrace());
  const outcome = filter(event, rules, waysIn.dryRun, newTrace());
  if (outcome === null) return { status: "accepted", code: "accepted", reason: "All filters passed." };
  return { status: outcomes[outcome.code].status, code: outcome.code, reason: outcome.reason };
}
