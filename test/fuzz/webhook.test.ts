import { expect, test } from "bun:test";
import fc from "fast-check";
import { type ProviderName, providerNames } from "../../src/git-host/hosts.ts";
import { setUpApi } from "../support/api-setup.ts";
import { fuzz, mutated } from "../support/fuzz.ts";
import { hmac, makeHook } from "../support/hook.ts";
import { payloadSamples as samples } from "../support/host-fixtures.ts";
import { longTest } from "../support/long-test.ts";

longTest(1_800_000);

const secret = "the secret of the fuzzed hooks";
const storedBodyMaxBytes = 8192;

const urls = new Map<ProviderName, string>();
const server = await setUpApi({ "webhook.limitPerMinute": 1_000_000_000 });
for (const provider of providerNames) {
  const events = ["push", "tag", "merge_request"];
  const hook = await makeHook(server, {
    provider,
    secret,
    events,
    debounceSeconds: 3600,
    pathFilter: ["**"],
  });
  urls.set(provider, await hook.url());
}

/** Bytes that are allowed in a header. */
const headerText = fc.oneof(
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 80,
  }),
  fc.constantFrom("", "push", "Push Hook", "sha256=", "x".repeat(500)),
);

/** A real delivery of one host with changed bytes, sometimes in a form, sometimes with foreign or missing headers. */
const delivery = fc.constantFrom(...samples).chain(({ provider, headers, payload }) =>
  fc.record({
    provider: fc.constant(provider),
    body: mutated([
      Buffer.from(JSON.stringify(payload)),
      Buffer.from(`payload=${encodeURIComponent(JSON.stringify(payload))}`),
    ]),
    headers: fc.record(
      Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          fc.oneof({ weight: 6, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: headerText }),
        ]),
      ),
    ),
    contentType: fc.constantFrom(
      "application/json",
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain; charset=utf-16",
    ),
    isSigned: fc.boolean(),
    wrongSignature: headerText,
  }),
);

const tokenHeaders = [
  "X-Gitlab-Token",
  "X-Gitee-Token",
  "X-Codeup-Token",
  "X-CICD-Token",
  "X-HostB-Token",
  "X-HostC-Token",
  "X-HostD-Token",
];
const signatureHeaders = ["X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Gogs-Signature"];

function proof(body: Buffer, isSigned: boolean, wrong: string): Record<string, string> {
  const digest = hmac(secret, body);
  return Object.fromEntries([
    ...tokenHeaders.map((name) => [name, isSigned ? secret : wrong]),
    ...signatureHeaders.map((name) => [
      name,
      isSigned ? (name.includes("Hub") ? `sha256=${digest}` : digest) : wrong,
    ]),
  ]);
}

const allowed = [200, 202, 400, 401, 413, 429];

test("no bytes and headers cause a server error, and each delivery leaves at most one record", async () => {
  let sent = 0;
  await fuzz({
    name: "webhook deliveries",
    inputs: { short: 5_000, long: 300_000 },
    arbitrary: delivery,
    async check({ provider, body, headers, contentType, isSigned, wrongSignature }) {
      const response = await fetch(urls.get(provider) ?? "", {
        method: "POST",
        headers: { ...headers, ...proof(body, isSigned, wrongSignature), "Content-Type": contentType },
        body: new Uint8Array(body),
      });
      sent++;
      const answer = (await response.json()) as { deliveryId: number; reason: string; code: string };
      if (!allowed.includes(response.status)) throw new Error(`${response.status} ${JSON.stringify(answer)}`);
      expect(answer.deliveryId).toBeGreaterThan(0);
      expect(answer.reason.length).toBeLessThan(2_000);
      return { used: await storedBytesOf(answer.deliveryId, sent), bound: storedBodyMaxBytes };
    },
  });
  const { total } = await server.admin.expect<{ total: number }>(
    200,
    "GET",
    "/api/webhooks/deliveries?pageSize=1",
  );
  expect(total).toBeLessThanOrEqual(sent);
  expect(server.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
}, 1_800_000);

/** Reads back every fifth record. */
async function storedBytesOf(id: number, sent: number): Promise<number> {
  if (sent % 5 !== 0) return 0;
  const record = await server.admin.expect<{ body: string | null }>(
    200,
    "GET",
    `/api/webhooks/deliveries/${id}`,
  );
  return Buffer.byteLength(record.body ?? "");
}
