import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { gitHosts } from "../../src/git-host/hosts.ts";
import { isSignedBy, type Proof, type SignedRequest } from "../../src/git-host/proof/proof.ts";
import { diagnose as diagnosed } from "../../src/git-host/signature-doctor.ts";
import { webhookDefaults } from "../../src/model/webhook-config.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { standardDigest } from "../../src/standard-webhooks.ts";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, makeHook, sha } from "../support/hook.ts";

const diagnose = (failed: Parameters<typeof diagnosed>[0]) => renderReason(diagnosed(failed));

/** The example of the specification's own libraries. */
const vector = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  body: '{"test": 2432232314}',
  sentAtMs: 1_614_265_330_000,
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
};
const signature = vector.headers["webhook-signature"];

/** The two senders with this signature: GitLab, and any sender if the project is configured for it. */
const senders: [string, Proof][] = [
  ["GitLab", gitHosts.gitlab.proof],
  ["a generic sender", gitHosts.generic.proof({ ...webhookDefaults, verifyMode: "standard" })],
];

function requestOf(headers: Record<string, string>, body = vector.body): SignedRequest {
  return {
    body: Buffer.from(body),
    headers: new Headers(headers),
    query: new URLSearchParams(),
    formPayload: () => null,
  };
}

function signed(secret: string, id: string, timestamp: string, body: string): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${standardDigest(secret, id, timestamp, body).toString("base64")}`,
  };
}

for (const [sender, proof] of senders)
  describe(`a signature of Standard Webhooks from ${sender}`, () => {
    const isSigned = (headers: object, atMs = vector.sentAtMs, secret = vector.secret, body = vector.body) =>
      isSignedBy(secret, proof, requestOf({ ...vector.headers, ...headers }, body), atMs);

    test("is the one of the specification's example, over id, timestamp and body", () => {
      expect(isSigned({})).toBe(true);
      expect(isSigned({}, vector.sentAtMs, vector.secret, `${vector.body} `)).toBe(false);
      expect(isSigned({ "webhook-id": "msg_other" })).toBe(false);
      expect(isSigned({ "webhook-timestamp": "1614265331" })).toBe(false);
      expect(isSigned({}, vector.sentAtMs, vector.secret.replace("whsec_M", "whsec_N"))).toBe(false);
    });

    test("may be one of several, separated by spaces; only those of version 1 count", () => {
      expect(isSigned({ "webhook-signature": `v1,AAAA v1a,BBBB ${signature} v2,CCCC` })).toBe(true);
      expect(isSigned({ "webhook-signature": signature.replace("v1,", "v2,") })).toBe(false);
      expect(isSigned({ "webhook-signature": signature.replace("v1,", "") })).toBe(false);
    });

    test("is good for five minutes in both directions", () => {
      for (const offMs of [-300_000, 300_000]) expect(isSigned({}, vector.sentAtMs + offMs)).toBe(true);
      for (const offMs of [-300_001, 300_001]) expect(isSigned({}, vector.sentAtMs + offMs)).toBe(false);
    });

    test("needs its id and its timestamp", () => {
      const blank = { ...vector.headers, "webhook-id": "" };
      expect(isSigned(blank)).toBe(false);
      for (const timestamp of ["", "now", "1614265330.5", "-1614265330"])
        expect(isSigned(signed(vector.secret, "msg_1", timestamp, vector.body))).toBe(false);
    });

    test("takes a secret without whsec_ as the key itself", () => {
      const headers = signed("plain text", "msg_1", "1614265330", vector.body);
      expect(isSigned(headers, vector.sentAtMs, "plain text")).toBe(true);
    });

    test("never takes an empty key for a secret that only looks like one", () => {
      for (const secret of ["whsec_", "whsec_A", "whsec_!!!!"]) {
        const headers = signed(secret, "msg_1", "1614265330", vector.body);
        expect(isSigned(headers, vector.sentAtMs, secret)).toBe(true);
        const digest = createHmac("sha256", "").update(`msg_1.1614265330.${vector.body}`).digest("base64");
        expect(isSigned({ ...headers, "webhook-signature": `v1,${digest}` }, vector.sentAtMs, secret)).toBe(
          false,
        );
      }
    });

    test("has a diagnosis for each mistake", () => {
      const diagnosisOf = (headers: object, more: object = {}, body = vector.body) =>
        diagnose({
          secrets: [vector.secret],
          endedSecrets: [],
          proof,
          request: requestOf({ ...vector.headers, ...headers }, body),
          nowMs: vector.sentAtMs,
          ...more,
        });
      expect(diagnosisOf({}, { nowMs: 0 })).toMatch(/more than five minutes off/);
      expect(diagnosisOf({ "webhook-timestamp": "" })).toMatch(/webhook-timestamp is missing/);
      for (const empty of ["", "v1,"])
        expect(diagnosisOf({ "webhook-signature": empty })).toMatch(/webhook-signature is empty/);
      expect(diagnosisOf({}, { secrets: [vector.secret.slice("whsec_".length)] })).toMatch(/whsec_ in front/);
      expect(diagnosisOf({}, {}, `${vector.body}\n`)).toMatch(/last newline/);
      expect(diagnosisOf({}, { secrets: ["whsec_b3RoZXI="] })).toMatch(/differs/);
      expect(diagnosisOf({}, { secrets: ["other"], endedSecrets: [vector.secret] })).toMatch(
        /no longer accepted/,
      );
    });
  });

test("a sender that does not match the configuration gets a hint which setting fits", () => {
  const said = diagnose({
    secrets: [vector.secret],
    endedSecrets: [],
    proof: gitHosts.generic.proof(webhookDefaults),
    request: requestOf(vector.headers),
    nowMs: vector.sentAtMs,
  });
  expect(said).toMatch(/check “Proof of the sender”/);
  expect(isSignedBy(vector.secret, gitHosts.hostb.proof, requestOf(vector.headers), vector.sentAtMs)).toBe(
    false,
  );
});

describe("through HTTP", async () => {
  const server = await setUpApi();

  const push = JSON.stringify({
    object_kind: "push",
    ref: "refs/heads/main",
    after: sha("a"),
    checkout_sha: sha("a"),
    user_username: "ann",
  });
  const nowSeconds = () => String(Math.floor(Date.now() / 1000));

  test("GitLab may sign, or send the token: a generated whsec_ secret serves both", async () => {
    const hook = await makeHook(server, { provider: "gitlab", debounceSeconds: 0 });
    const path = `/api/projects/${hook.projectId}/webhook/generate-secret?format=whsec`;
    const { secret } = await server.admin.expect<{ secret: string }>(200, "POST", path);
    expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await hook.save({ secret });
    const event = { "X-Gitlab-Event": "Push Hook" };
    const headers = { ...event, ...signed(secret, "uuid-1", nowSeconds(), push) };
    const answer = await hook.deliver({ body: push, headers });
    expect(answer.status).toBe(202);
    expect(await deliveryOf(server.admin, answer.body.deliveryId)).toMatchObject({
      host_delivery_id: "uuid-1",
      author: "ann",
    });
    expect((await hook.deliver({ body: `${push} `, headers })).status).toBe(401);
    const token = await hook.deliver({ body: push, headers: { ...event, "X-Gitlab-Token": secret } });
    expect(token.status).toBe(202);
  });

  test("with verifyMode standard a generic sender must sign; no other proof counts", async () => {
    const secret = "a secret of words";
    const hook = await makeHook(server, { secret, verifyMode: "standard", debounceSeconds: 0 });
    const body = JSON.stringify({ event: "push", ref: "main" });
    const headers = signed(secret, "msg_1", nowSeconds(), body);
    expect((await hook.deliver({ body, headers })).status).toBe(202);
    expect((await hook.deliver({ body, headers: { "X-CICD-Token": secret } })).status).toBe(401);
    expect((await hook.deliver({ body, query: { secret } })).status).toBe(401);
    const stale = signed(secret, "msg_1", "1614265330", body);
    const late = await hook.deliver({ body, headers: stale });
    expect(late.status).toBe(401);
    expect(String((await deliveryOf(server.admin, late.body.deliveryId)).reason)).toMatch(/minutes off/);
  });
});
