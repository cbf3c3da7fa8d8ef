import { expect, test } from "bun:test";
import fc from "fast-check";
import examples from "../../node_modules/@octokit/webhooks-examples/api.github.com/index.json";
import { gitHosts, type ProviderName, providerNames } from "../../src/git-host/hosts.ts";
import { readEvent } from "../../src/git-host/read-event.ts";
import type { JsonObject } from "../../src/json.ts";
import { deliveryKinds } from "../../src/webhook/decide/delivery-kind.ts";
import { applyFilters } from "../../src/webhook/decide/filters.ts";
import { rulesOf } from "../../src/webhook/hook/compiled-rules.ts";
import { defaultConfig } from "../../src/webhook/management.ts";
import { setUpApi } from "../support/api-setup.ts";
import { deliverTo, makeHook } from "../support/hook.ts";
import { payloadSamples as own, type PayloadSample } from "../support/host-fixtures.ts";
import { pick } from "../support/length.ts";

type Sample = Pick<PayloadSample, "provider" | "headers" | "payload">;

const ofGithub: Sample[] = examples
  .filter(({ name }) => ["push", "create", "delete", "pull_request", "ping"].includes(name))
  .flatMap(({ name, examples: bodies }) =>
    (bodies as JsonObject[]).map((payload) => ({
      provider: "github" as const,
      headers: { "X-GitHub-Event": name },
      payload,
    })),
  );

/** Wrong values of every type. */
const wrongValues = [
  null,
  0,
  -1,
  1e308,
  true,
  "",
  "x",
  "\0\u001b[31m",
  [],
  [null],
  {},
  { id: {} },
  "0".repeat(40),
];

/**
 * Visits every payload that differs from this one in a single place: a key deleted, nulled or of another type. The
 * payload is changed in place and restored, because copies would take minutes.
 */
function* mutationsOf(payload: JsonObject): Generator<JsonObject> {
  for (const [holder, key] of placesOf(payload)) {
    const value: unknown = Reflect.get(holder, key);
    for (const wrong of wrongValues) {
      Reflect.set(holder, key, wrong);
      yield payload;
    }
    Reflect.deleteProperty(holder, key);
    yield payload;
    Reflect.set(holder, key, value);
  }
}

function placesOf(value: unknown): [object, string][] {
  if (typeof value !== "object" || value === null) return [];
  const here = Object.keys(value).map((key): [object, string] => [value, key]);
  return [...here, ...Object.values(value).flatMap(placesOf)];
}

const filters = { branchFilter: ["**"], pathFilter: ["src/**"] };
const rules = rulesOf({ ...defaultConfig(1, new Date(0)), ...filters }, { environments: [] });

function judge({ provider, headers }: Sample, payload: JsonObject): void {
  const event = readEvent(gitHosts[provider], new Headers(headers), payload);
  applyFilters(event, rules, deliveryKinds.live);
}

test("no payload with one key deleted, nulled or retyped breaks reading and filtering", () => {
  let tried = 0;
  for (const sample of [...own, ...ofGithub])
    for (const payload of mutationsOf(sample.payload)) {
      if (++tried % pick(3, 1) !== 0) continue;
      judge(sample, payload);
    }
  expect(tried).toBeGreaterThan(100_000);
});

test("no JSON object at all breaks reading and filtering", () => {
  const headers = fc.constantFrom(
    "push",
    "Push Hook",
    "Merge Request Hook",
    "pull_request",
    "create",
    "repo:push",
    "",
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...providerNames),
      headers,
      fc.dictionary(keyName, fc.jsonValue()),
      (provider, name, payload) => {
        const sent = Object.fromEntries(gitHosts[provider].eventHeaders.map((header) => [header, name]));
        judge({ provider, headers: sent, payload: {} }, payload as JsonObject);
      },
    ),
    { numRuns: pick(2_000, 50_000) },
  );
});

const keyName = fc.constantFrom(
  ...[
    "ref",
    "after",
    "before",
    "commits",
    "head_commit",
    "pull_request",
    "object_attributes",
    "push",
    "pullrequest",
  ],
  ...[
    "sender",
    "event",
    "paths",
    "action",
    "object_kind",
    "hook_name",
    "checkout_sha",
    "__proto__",
    "constructor",
  ],
);

const server = await setUpApi({ "webhook.limitPerMinute": 1_000_000 });

test("a mutated payload over HTTP is never answered 500 and always recorded", async () => {
  const urls = new Map<ProviderName, string>();
  for (const provider of providerNames) {
    const hook = await makeHook(server, { provider, events: ["push", "tag", "merge_request"] });
    urls.set(provider, await hook.url());
  }
  const ids = new Set<unknown>();
  let sent = 0;
  let seen = 0;
  for (const sample of own)
    for (const payload of mutationsOf(sample.payload)) {
      if (++seen % pick(53, 7) !== 0) continue;
      const answer = await deliverTo(urls.get(sample.provider) ?? "", { payload, headers: sample.headers });
      sent++;
      if (![200, 202].includes(answer.status))
        throw new Error(`${answer.status} ${JSON.stringify(answer.body)} for ${JSON.stringify(payload)}`);
      ids.add(answer.body.deliveryId);
    }
  expect(ids.size).toBe(sent);
  const { total } = await server.admin.expect<{ total: number }>(
    200,
    "GET",
    "/api/webhooks/deliveries?pageSize=1",
  );
  expect(total).toBe(sent);
});
