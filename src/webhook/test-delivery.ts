import { parseGenericPayload } from "../git-host/generic.ts";
import { gitHostOf } from "../git-host/hosts.ts";
import { readEvent } from "../git-host/read-event.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { DeliveryCode, DeliveryStatus, NormalizedEvent, TraceStep } from "../model/delivery.ts";
import type { Project } from "../model/project.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import type { Reason } from "../reason/reason.ts";
import type { Decider } from "./decide/decider.ts";
import { newDelivery, projectOf } from "./decide/delivery.ts";
import { deliveryKinds } from "./decide/delivery-kind.ts";
import { type Answer, outcomes } from "./decide/outcome.ts";
import { storedBodyOf } from "./decide/stored-body.ts";
import type { Hooks } from "./hook/hooks.ts";

/** A sample delivery: a host's payload with its headers, or the fields of our own format. */
export interface TestInput {
  event?: string;
  ref?: string;
  refType?: "branch" | "tag";
  commit?: string;
  message?: string;
  author?: string;
  paths?: string[];
  payload?: JsonObject;
  headers?: Record<string, string>;
}

export interface DryRun {
  dryRun: true;
  decision: { status: DeliveryStatus; code: DeliveryCode; reason: Reason; httpStatus: number };
  normalized: NormalizedEvent;
  trace: TraceStep[];
}

export function buildTestDeliveries(decider: Decider, hooks: Hooks) {
  return {
    /** Only the decision: nothing is recorded or created. */
    async dryRun(project: Project, config: WebhookConfig, input: TestInput, author: string): Promise<DryRun> {
      const sample = sampleOf(project, config, input, author);
      const hook = hooks.hookOf(config, project);
      const { event, outcome, trace } = await decider.preview(hook, sample.event, deliveryKinds.dryRun);
      const decision = { code: outcome.code, reason: outcome.reason, ...outcomes[outcome.code] };
      return { dryRun: true, decision, normalized: event, trace };
    },
    /** A real delivery with a record and a task; signature, filters and debounce are skipped. */
    async run(
      project: Project,
      config: WebhookConfig,
      input: TestInput,
      author: string,
      now: Date,
    ): Promise<Answer> {
      const { event: sample, text, payload } = sampleOf(project, config, input, author);
      const event = { ...sample, sentBy: [author] };
      const hook = hooks.hookOf(config, project);
      const body = storedBodyOf(text, payload, hook.secrets().accepted(now.getTime()));
      return decider.decide(newDelivery(deliveryKinds.test, now, { ...projectOf(hook), event, body }));
    },
  };
}
export type TestDeliveries = ReturnType<typeof buildTestDeliveries>;

function sampleOf(project: Project, config: WebhookConfig, input: TestInput, author: string) {
  const payload: JsonObject = input.payload ?? samplePayload(project, input, author);
  const event = isObject(input.payload)
    ? readEvent(gitHostOf(config.provider), new Headers(input.headers), payload)
    : { ...parseGenericPayload(payload, "", null), rawEvent: String(payload.event) };
  return { event, payload, text: JSON.stringify(payload) };
}

function samplePayload(project: Project, input: TestInput, author: string): JsonObject {
  const { payload: _payload, headers: _headers, ...given } = input;
  return {
    event: given.refType === "tag" ? "tag" : "push",
    ref: project.git.ref,
    message: "Test delivery",
    author,
    ...given,
  };
}
