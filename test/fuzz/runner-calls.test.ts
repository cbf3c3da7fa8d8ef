import { expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import {
  beatRequest,
  claimRequest,
  finishRequest,
  logRequest,
  runnerFeatures,
  stageRequest,
} from "../../src/runner/protocol.ts";
import { setUpProtocol } from "../support/api-setup.ts";
import { fuzz, mutatedText } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";
import { type ValueSchema, valuesOf } from "../support/schema-values.ts";

longTest(1_200_000);

const scene = await setUpProtocol();
const held = await scene.claimed();

const schemas = {
  hello: claimRequest,
  beat: beatRequest,
  log: logRequest,
  stage: stageRequest,
  finish: finishRequest,
};
type CallName = keyof typeof schemas;

const samples: Record<CallName, object> = {
  hello: { labels: ["linux"], concurrency: 1, version: "0.1.0", features: runnerFeatures },
  beat: { taskId: 1, attempt: 1, lease: "LEASE", waitMs: 0 },
  log: {
    taskId: 1,
    attempt: 1,
    lease: "LEASE",
    from: 0,
    lines: [{ stage: "build", at: "2026-01-31T09:30:00Z", text: "x" }],
  },
  stage: {
    taskId: 1,
    attempt: 1,
    lease: "LEASE",
    stage: "checkout",
    state: "success",
    exitCode: 0,
    commit: "a".repeat(40),
  },
  finish: { taskId: 1, attempt: 1, lease: "LEASE", state: "success", reason: "" },
};

/** A nearly valid call of the protocol; every second one has the lease of the held task. */
const call = fc.constantFrom(...(Object.keys(schemas) as CallName[])).chain((name) =>
  fc.record({
    name: fc.constant(name),
    isHolder: fc.boolean(),
    body: fc.oneof(
      valuesOf(z.toJSONSchema(schemas[name]) as ValueSchema, {}),
      mutatedText([JSON.stringify(samples[name])]),
    ),
  }),
);

/** A response contains at most fifty field names of the call and no other input. */
const answerMaxBytes = 64 * 1024;

test("no call of a runner causes a server error, and none changes the task of another runner", async () => {
  await fuzz({
    name: "runner calls",
    inputs: { short: 2_000, long: 100_000 },
    arbitrary: call,
    async check({ name, isHolder, body }) {
      const answer = await send(name, asText(body, isHolder));
      if (answer.status >= 500) throw new Error(`${answer.status} ${answer.text}`);
      return { used: answer.text.length, bound: answerMaxBytes };
    },
  });
  const task = await scene.client.task(held.taskId);
  expect(["running", "dispatched", "success", "failed", "canceled", "timeout"]).toContain(task.state);
  expect(scene.server.logLines.filter((line) => line.includes("a runner's call failed"))).toEqual([]);
}, 1_200_000);

function asText(body: unknown, isHolder: boolean): string {
  const text = typeof body === "string" ? body : (JSON.stringify(withoutWait(body)) ?? "null");
  return isHolder ? text.replaceAll("LEASE", held.lease) : text;
}

/** A heartbeat is answered at once, so the test does not wait for work. */
function withoutWait(body: unknown): unknown {
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  if (!isObject || !("waitMs" in body) || typeof body.waitMs !== "number") return body;
  return { ...body, lease: "LEASE", taskId: held.taskId, attempt: held.attempt, waitMs: 0 };
}

async function send(name: CallName, body: string) {
  const response = await fetch(`${scene.server.url}/api/runner/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${scene.runner.token}`, "content-type": "application/json" },
    body,
  });
  return { status: response.status, text: await response.text() };
}
