import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { deliveryOf, hmac, makeHook } from "../support/hook.ts";

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server.stop());

const payload = { ref: "refs/heads/main", after: "a".repeat(40) };

/** As real hosts send it without a secret. */
const hosts: [string, object, Record<string, string>, string][] = [
  [
    "Gitea",
    { provider: "gitea" },
    {
      "X-Gitea-Event": "push",
      "X-Gitea-Signature": "",
      "X-Gogs-Signature": "",
      "X-Hub-Signature": "sha1=",
      "X-Hub-Signature-256": "sha256=",
    },
    "X-Hub-Signature-256",
  ],
  ["Gogs", { provider: "gogs" }, { "X-Gogs-Event": "push", "X-Gogs-Signature": "" }, "X-Gogs-Signature"],
  [
    "GitLab",
    { provider: "gitlab" },
    { "X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "" },
    "X-Gitlab-Token",
  ],
  ["Gitee", { provider: "gitee" }, { "X-Gitee-Event": "Push Hook", "X-Gitee-Token": " " }, "X-Gitee-Token"],
  ["GitHub", { provider: "github" }, { "X-Hub-Signature-256": "sha256=" }, "X-Hub-Signature-256"],
  ["Bitbucket", { provider: "bitbucket" }, { "X-Hub-Signature": "sha256=" }, "X-Hub-Signature"],
  [
    "a generic sender with a prefix",
    { verifyMode: "hmac", signaturePrefix: "hmac-", secretHeader: "X-Proof" },
    { "X-Proof": "hmac-" },
    "X-Proof",
  ],
  ["a generic sender with a token", { secretHeader: "X-Proof" }, { "X-Proof": "" }, "X-Proof"],
  ["Standard Webhooks", { verifyMode: "standard" }, { "webhook-signature": "v1," }, "webhook-signature"],
];

test.each(hosts)("of %s is diagnosed as a host without a secret", async (_host, config, headers, header) => {
  const hook = await makeHook(server, { ...config, secret: "right" });
  const answer = await hook.deliver({ payload, headers });
  expect([answer.status, answer.body.reason]).toEqual([401, "The signature failed."]);
  expect((await deliveryOf(server.admin, answer.body.deliveryId)).reason).toBe(
    `The signature failed: header ${header} is empty, so the host has no secret: set the secret on the host too.`,
  );
});

test("a signature with an empty secret is diagnosed as such", async () => {
  const hook = await makeHook(server, { provider: "github", secret: "right" });
  const body = JSON.stringify(payload);
  const answer = await hook.deliver({ body, headers: { "X-Hub-Signature-256": `sha256=${hmac("", body)}` } });
  expect(answer.status).toBe(401);
  expect((await deliveryOf(server.admin, answer.body.deliveryId)).reason).toContain(
    "made with an empty secret",
  );
});

test("a wrong signature and a wrong token are still diagnosed as a different secret", async () => {
  const wrong = { "X-Hub-Signature-256": `sha256=${"0".repeat(64)}`, "X-Gitlab-Token": "sha256=" };
  for (const provider of ["github", "gitlab"]) {
    const hook = await makeHook(server, { provider, secret: "right" });
    const { body } = await hook.deliver({ payload, headers: wrong });
    expect((await deliveryOf(server.admin, body.deliveryId)).reason).toContain(
      "the secret on the host differs",
    );
  }
});
