import { parseGenericPayload } from "../git-host/generic.ts";
import { gitHostOf } from "../git-host/hosts.ts";
import { withoutSecret } from "../git-host/kept-headers.ts";
import { readEvent } from "../git-host/read-event.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { DeliveryCode, DeliveryStatus, NormalizedEvent } from "../model/delivery.ts";
import type { Project } from "../model/project.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import { deliveryKinds } from "./decide/delivery-kind.ts";
import type { HookDirectory } from "./decide/locate.ts";
import { type Answer, outcomes } from "./decide/outcome.ts";
import type { Pipeline } from "./decide/pipeline.ts";
import type { Known } from "./decide/record.ts";
import { storedBodyOf } from "./decide/stored-body.ts";
import { newTrace } from "./decide/trace.ts";

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
  decision: { status: DeliveryStatus; code: DeliveryCode; reason: string; httpStatus: number };
  normalized: NormalizedEvent;
  trace: Known["trace"]["steps"];
}

export function buildTestDeliveries(pipeline: Pipeline, hooks: HookDirectory) {
  return {
    /** Only the decision: nothing is recorded or created. */
    async dryRun(project: Project, config: WebhookConfig, input: TestInput, author: string): Promise<DryRun> {
      const trace = newTrace();
      const sample = sampleOf(project, config, input, author);
      const hook = hooks.hookOf(config, project);
      const judged = await pipeline.preview(hook, sample.event, deliveryKinds.dryRun, trace);
      const { outcome } = judged.decision;
      const decision = { code: outcome.code, reason: outcome.reason, ...outcomes[outcome.code] };
      return { dryRun: true, decision, normalized: judged.event, trace: trace.steps };
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
      const known: Known = {
        projectId: project.id,
        projectName: project.name,
        provider: config.provider,
        event,
        body: storedBodyOf(text, payload, hook.secrets().accepted(now.getTime())),
        headers: {},
        hostDeliveryId: null,
        remoteIp: deliveryKinds.test.remoteIp,
        arrivedAt: now,
        trace: newTrace(),
        replayOf: null,
        formerProjectId: null,
      };
      return pipeline.decide({ kind: deliveryKinds.test, hook, known, problem: "" });
    },
  };
}
export type TestDeliveries = ReturnType<typeof buildTestDeliveries>;

function sampleOf(project: Project, config: WebhookConfig, input: TestInput, author: string) {
  const payload: JsonObject = input.payload ?? samplePayload(project, input, author);
  const event = isObject(input.payload)
    ? readEvent(gitHostOf(config.provider), withoutSecret(new Headers(input.headers), config), payload)
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
