import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { manualClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { deliverTo, deliveryOf, hmac, makeHook, type TestHook } from "../support/hook.ts";

/** Expected fields of a response or a record; `…Matches` are regular expressions for one field each. */
interface Expected {
  http?: number;
  response?: object;
  responseMatches?: Record<string, string>;
  /** Fields that must not be there. */
  absent?: string[];
  headers?: Record<string, string>;
  record?: object;
  recordMatches?: Record<string, string>;
  task?: object;
  /** Names in error.fields of a 422. */
  fields?: string[];
}

type Step = { expect?: Expected; times?: number } & (
  | {
      deliver: {
        payload?: unknown;
        body?: string;
        /** Fills the payload up to exactly this many bytes. */
        bytes?: number;
        headers?: Record<string, string>;
        query?: Record<string, string>;
        sign?: {
          header: string;
          secret: string;
          prefix?: string;
          encoding?: "hex" | "base64";
          upperCase?: boolean;
        };
        /** Instead of the project's own. */
        key?: string;
      };
    }
  | { advanceSeconds: number }
  | { save: object }
  | { read: true }
  | { test: object }
  | { resetKey: true }
  | { replayLast: object }
);

interface Scenario {
  title: string;
  settings?: Partial<Config>;
  project?: object;
  config: object;
  steps: Step[];
}

const folder = resolve(import.meta.dir, "../scenarios");
const scenarios = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .sort()
  .map((file) => ({ file, ...(JSON.parse(readFileSync(join(folder, file), "utf8")) as Scenario) }));

const clock = manualClock(Date.UTC(2026, 0, 31, 9, 30));
/** Servers by their settings; most scenarios share the one without any. */
const servers = new Map<string, Promise<ApiServer>>();

function serverWith(settings: Partial<Config>): Promise<ApiServer> {
  const key = JSON.stringify(settings);
  const started = servers.get(key) ?? startApiServer(settings, clock);
  servers.set(key, started);
  return started;
}

beforeAll(async () => {
  await serverWith({});
});
afterAll(async () => {
  for (const server of servers.values()) await (await server).stop();
});

describe("scenarios of the specification", () => {
  for (const scenario of scenarios)
    test(`${scenario.file}: ${scenario.title}`, async () => {
      const server = await serverWith(scenario.settings ?? {});
      const hook = await makeHook(server, scenario.config, scenario.project);
      try {
        await play(server, hook, scenario.steps);
      } finally {
        // Its tasks would be in the queue before those of the next scenario.
        await server.admin.expect(204, "DELETE", `/api/projects/${hook.projectId}`);
      }
    });
});

async function play(server: ApiServer, hook: TestHook, steps: Step[]): Promise<void> {
  let lastDeliveryId: unknown = 0;
  for (const [index, step] of steps.entries()) {
    for (let time = 0; time < (step.times ?? 1); time++) {
      const answer = await run(server, hook, step, lastDeliveryId);
      if (answer === null) continue;
      lastDeliveryId = answer.body.deliveryId ?? lastDeliveryId;
      await check(server, answer, step.expect ?? {}, `step ${index + 1}`);
    }
  }
}

interface StepAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

async function run(
  server: ApiServer,
  hook: TestHook,
  step: Step,
  lastDeliveryId: unknown,
): Promise<StepAnswer | null> {
  const path = `/api/projects/${hook.projectId}/webhook`;
  const ask = async (method: string, at: string, body?: unknown) =>
    (await server.admin.request(method, at, body)) as unknown as StepAnswer;
  if ("advanceSeconds" in step) {
    clock.advance(step.advanceSeconds * 1000);
    return null;
  }
  if ("save" in step) return ask("PUT", path, step.save);
  if ("read" in step) return ask("GET", path);
  if ("test" in step) return ask("POST", `${path}/test`, step.test);
  if ("resetKey" in step) return ask("POST", `${path}/reset-key`, {});
  if ("replayLast" in step)
    return ask("POST", `/api/webhooks/deliveries/${lastDeliveryId}/replay`, step.replayLast);
  return deliver(server, hook, step.deliver);
}

async function deliver(
  server: ApiServer,
  hook: TestHook,
  { payload, body, bytes, headers, query, sign, key }: Extract<Step, { deliver: unknown }>["deliver"],
): Promise<StepAnswer> {
  const text = body ?? (bytes === undefined ? JSON.stringify(payload ?? {}) : padded(payload, bytes));
  const url = key === undefined ? await hook.url() : `${server.url}/api/hooks/git/${key}`;
  const digest = sign ? hmac(sign.secret, text, sign.encoding) : "";
  const proof = sign ? `${sign.prefix ?? ""}${sign.upperCase ? digest.toUpperCase() : digest}` : "";
  return deliverTo(url, {
    body: text,
    headers: { ...headers, ...(sign ? { [sign.header]: proof } : {}) },
    ...(query ? { query } : {}),
  });
}

function padded(payload: unknown, bytes: number): string {
  const bare = JSON.stringify({ ...(payload as object), filler: "" });
  return JSON.stringify({ ...(payload as object), filler: "x".repeat(bytes - bare.length) });
}

async function check(
  server: ApiServer,
  answer: StepAnswer,
  expected: Expected,
  where: string,
): Promise<void> {
  const { status, body } = answer;
  const said = `${where} answered ${status} ${JSON.stringify(body)}`;
  if (expected.http !== undefined) expect([status, said]).toEqual([expected.http, said]);
  if (expected.response) expect(body).toMatchObject(expected.response);
  for (const [field, pattern] of Object.entries(expected.responseMatches ?? {}))
    expect(String(body[field])).toMatch(new RegExp(pattern));
  for (const field of expected.absent ?? []) expect(Object.keys(body)).not.toContain(field);
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expect(answer.headers.get(name)).toBe(value);
  if (expected.fields) {
    const { fields } = body.error as { fields: { field: string }[] };
    expect(fields.map(({ field }) => field)).toEqual(expected.fields);
  }
  if (expected.record || expected.recordMatches) {
    const record = await deliveryOf(server.admin, body.deliveryId);
    expect(record).toMatchObject(expected.record ?? {});
    for (const [field, pattern] of Object.entries(expected.recordMatches ?? {}))
      expect(String(record[field])).toMatch(new RegExp(pattern));
  }
  if (expected.task) {
    const taskId = body.taskId ?? body.mergedIntoTaskId;
    expect(await server.admin.expect(200, "GET", `/api/tasks/${taskId}`)).toMatchObject(expected.task);
  }
}
