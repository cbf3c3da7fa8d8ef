import { expect, test } from "bun:test";
import { skipCauseOf } from "../../src/model/stage/skip-cause.ts";

const step = (startedAt: string | null = null) => ({ startedAt });
const stagesOf = (build: object[], deploy: object[], isBuilt = true) => [
  { name: "build" as const, startedAt: isBuilt ? "2026-01-01" : null, steps: build },
  { name: "deploy" as const, startedAt: null, steps: deploy },
];
const failed = { state: "failed", actions: null, rollbackTo: null, deploys: null, serviceAction: null };
type Change = Partial<Parameters<typeof skipCauseOf>[0]>;

test.each<[string, object[], object[], Change]>([
  ["not_reached", [step()], [step()], {}],
  ["no_script", [step()], [], {}],
  ["left_out", [step()], [step()], { actions: { deploy: false } }],
  ["left_out", [step()], [step()], { serviceAction: { type: "stop", services: ["web"] } }],
  // Tasks of version 1.0 have no steps.
  ["not_reached", [], [], {}],
  ["no_script", [], [], { state: "success" }],
])("a skipped deploy is %s: %j, %j, %j", (cause, build, deploy, change) => {
  const stages = stagesOf(build, deploy);
  const [, skipped] = stages;
  if (skipped) expect(skipCauseOf({ ...failed, ...change, stages }, skipped)).toBe(cause as "no_script");
});

test("a rollback to a kept release leaves its build out, and a step after the failed one is not reached", () => {
  const kept = stagesOf([step()], [step()], false);
  const [build] = kept;
  if (build) expect(skipCauseOf({ ...failed, rollbackTo: 1, stages: kept }, build)).toBe("left_out");
  const stages = stagesOf([step("2026-01-01"), step()], []);
  const [ran] = stages;
  if (ran) expect(skipCauseOf({ ...failed, stages }, ran)).toBe("not_reached");
});
