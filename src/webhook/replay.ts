import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { gitHostOf } from "../git-host/hosts.ts";
import { readEvent } from "../git-host/read-event.ts";
import { isObject } from "../json.ts";
import type { Delivery, DeliveryCode, NormalizedEvent } from "../model/delivery.ts";
import type { Store } from "../model/store.ts";
import { inOrder, newReason } from "../reason/reason.ts";
import { type BulkReplays, buildBulkReplays, type ExpectedOutcome } from "./bulk-replay.ts";
import type { Decider } from "./decide/decider.ts";
import { newDelivery, projectOf, traceOn } from "./decide/delivery.ts";
import { type DeliveryKind, deliveryKinds } from "./decide/delivery-kind.ts";
import { type Answer, outcomes } from "./decide/outcome.ts";
import { notEnabled } from "./decide/verify.ts";
import type { Hook, Hooks } from "./hook/hooks.ts";

export interface Replays {
  /**
   * Triggers a stored delivery again, ignoring signature, debounce and event list. Without `force`, the event list applies
   * to a delivery that was refused before its event was checked, and a delivery with a failed signature is not replayed.
   */
  replay(delivery: Delivery, force: boolean, username: string): Promise<Answer>;
  /** Replays a list: nobody checked each delivery, so the event list applies and failed signatures are skipped. */
  replayMany: BulkReplays;
}

export interface ReplaysOptions {
  store: Store;
  decider: Decider;
  hooks: Hooks;
  clock: Clock;
}

export function buildReplays({ store, decider, hooks, clock }: ReplaysOptions): Replays {
  async function replay(delivery: Delivery, force: boolean, username: string): Promise<Answer> {
    const wasJudged = force || !refusedUnjudged.includes(delivery.code);
    const answer = await replayAs(
      wasJudged ? deliveryKinds.replay : deliveryKinds.judgedReplay,
      delivery,
      force,
      username,
    );
    const { body } = answer;
    if (wasJudged || body.code !== "event_not_allowed") return answer;
    return { ...answer, body: { ...body, message: inOrder(body.message, newReason("replay_force")) } };
  }

  async function hookOf(delivery: Delivery): Promise<Hook> {
    const config = await store.webhookConfigs.ofProject(delivery.project_id);
    const project = await store.projects.byId(delivery.project_id);
    if (config === null || project === null) throw new Fault("conflict", newReason("delivery_gone"));
    return hooks.hookOf(config, project);
  }

  /** The outcome of a replay in a list, without a record or a task. */
  async function expectedOf(delivery: Delivery): Promise<ExpectedOutcome> {
    const event = replayableEvent(delivery, false);
    const hook = await hookOf(delivery);
    const kind = { ...deliveryKinds.judgedReplay, task: false };
    const { code, reason } = hook.config.enabled
      ? (await decider.preview(hook, event, kind)).outcome
      : notEnabled(traceOn([]));
    return { status: outcomes[code].status, code, reason };
  }

  async function replayAs(
    kind: DeliveryKind,
    delivery: Delivery,
    force: boolean,
    username: string,
  ): Promise<Answer> {
    const stored = replayableEvent(delivery, force);
    const event = { ...stored, sentBy: [...new Set([...(stored.sentBy ?? []), username])] };
    const hook = await hookOf(delivery);
    const replayed = newDelivery(kind, new Date(clock.now()), {
      ...projectOf(hook),
      provider: delivery.provider,
      event,
      body: delivery.body,
      headers: delivery.headers,
      hostDeliveryId: delivery.host_delivery_id,
      replayOf: delivery.id,
      pushedAt: delivery.created_at,
    });
    return decider.decide(replayed);
  }

  return {
    replay,
    replayMany: buildBulkReplays({
      deliveries: store.deliveries,
      replay: (delivery, username) => replayAs(deliveryKinds.judgedReplay, delivery, false, username),
      expect: expectedOf,
    }),
  };
}

/** Outcomes before the event was checked: the record does not show whether the project listens to it. */
const refusedUnjudged: readonly DeliveryCode[] = ["rate_limited", "lock_timeout", "internal_error"];

function replayableEvent(delivery: Delivery, force: boolean): NormalizedEvent {
  const event = storedEvent(delivery);
  if (event === null) throw new Fault("conflict", newReason("delivery_empty", { delivery: delivery.id }));
  if (delivery.code === "signature_invalid" && !force)
    throw new Fault("conflict", newReason("delivery_unsigned", { delivery: delivery.id }));
  return event;
}

/** The event kept beside the body, exact even where the body was cut; else what the whole body says. */
function storedEvent(delivery: Delivery): NormalizedEvent | null {
  if (delivery.project_id === 0) return null;
  if (delivery.normalized !== null) return delivery.normalized;
  if (delivery.provider === "") return null;
  try {
    const payload: unknown = JSON.parse(delivery.body);
    if (!isObject(payload)) return null;
    return readEvent(gitHostOf(delivery.provider), new Headers(delivery.headers), payload);
  } catch {
    return null;
  }
}
