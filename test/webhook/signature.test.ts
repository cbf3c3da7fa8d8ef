import { describe, expect, test } from "bun:test";
import { proofOf } from "../../src/git-host/git-host.ts";
import { gitHostOf, gitHosts } from "../../src/git-host/hosts.ts";
import { isSignedBy, type Proof, type SignedRequest } from "../../src/git-host/proof/proof.ts";
import { diagnose } from "../../src/git-host/signature-doctor.ts";
import { webhookDefaults } from "../../src/model/webhook-config.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, hmac, makeHook } from "../support/hook.ts";
import { proofFixtures } from "../support/host-fixtures.ts";

const secret = "It's a Secret to Everybody";

function requestOf(body: string, headers: Record<string, string>, form: string | null = null): SignedRequest {
  return {
    body: Buffer.from(body),
    headers: new Headers(headers),
    query: new URLSearchParams(),
    formPayload: () => (form === null ? null : Buffer.from(form)),
  };
}

const diagnosisOf = (proof: Proof, request: SignedRequest, more: object = {}) =>
  renderReason(diagnose({ secrets: [secret], endedSecrets: [], proof, request, nowMs: 0, ...more }));

describe.each(proofFixtures)("the proof of $provider", ({ provider, ...fixture }) => {
  const proof = proofOf(gitHostOf(provider), webhookDefaults);
  for (const isSigned of [true, false])
    for (const sample of isSigned ? fixture.accepted : fixture.refused)
      test(`${isSigned ? "accepts" : "refuses"} ${sample.title ?? "its own"}`, () => {
        const request = requestOf(sample.body ?? "{}", sample.headers, sample.form ?? null);
        const isSignedWith = (key: string) => isSignedBy(key, proof, request, sample.atMs ?? 0);
        expect([isSignedWith(fixture.secret), isSignedWith("another")]).toEqual([isSigned, false]);
      });

  test("is never satisfied by nothing, and the diagnosis of a host without a secret says so", () => {
    expect(isSignedBy(fixture.secret, proof, requestOf("{}", {}), 0)).toBe(false);
    const { headers, header } = fixture.withoutSecret;
    expect(diagnosisOf(proof, requestOf("{}", headers))).toBe(
      `header ${header} is empty, so the host has no secret: set the secret on the host too`,
    );
  });
});

describe("the diagnosis of a failed signature", () => {
  const github = gitHosts.github.proof;
  const signedWith = (key: string, body: string, prefix = "sha256=") => ({
    "X-Hub-Signature-256": prefix + hmac(key, body),
  });
  const atGitlab = (headers: Record<string, string>) =>
    diagnosisOf(gitHosts.gitlab.proof, requestOf("{}", { ...signedWith(secret, "{}"), ...headers }));
  const rows: [string, string, RegExp][] = [
    ["a missing header", diagnosisOf(github, requestOf("{}", {})), /X-Hub-Signature-256 is missing/],
    [
      "the header of another host",
      diagnosisOf(github, requestOf("{}", { "X-Gitlab-Token": secret })),
      /one of GitLab: check the provider/,
    ],
    [
      "the header of a host that shares it with others",
      atGitlab({ "X-Hub-Signature": "sha1=00", "X-GitHub-Event": "push" }),
      /one of GitHub: check the provider/,
    ],
    [
      "a host that also sends the headers of others",
      atGitlab({
        ...{ "X-Gitea-Signature": hmac(secret, "{}"), "X-Gogs-Signature": hmac(secret, "{}") },
        ...{ "X-Gitea-Event": "push", "X-Gogs-Event": "push", "X-GitHub-Event": "push" },
      }),
      /one of Gitea, Forgejo: check the provider/,
    ],
    [
      "SHA-1 alone",
      diagnosisOf(github, requestOf("{}", { "X-Hub-Signature": "sha1=00" })),
      /only a SHA-1 signature/,
    ],
    [
      "a newline after the secret",
      diagnosisOf(github, requestOf("{}", signedWith(`${secret}\n`, "{}"))),
      /newline/,
    ],
    [
      "the secret itself",
      diagnosisOf(github, requestOf("{}", { "X-Hub-Signature-256": secret })),
      /secret itself was sent/,
    ],
    [
      "another prefix",
      diagnosisOf(github, requestOf("{}", signedWith(secret, "{}", "v1="))),
      /prefix or encoding/,
    ],
    [
      "the body without its newline",
      diagnosisOf(github, requestOf("{}\n", signedWith(secret, "{}"))),
      /last newline/,
    ],
    [
      "a rewritten body",
      diagnosisOf(github, requestOf('{ "a": 1 }', signedWith(secret, '{"a":1}'))),
      /JSON written anew/,
    ],
    [
      "the JSON of a form",
      diagnosisOf(github, requestOf("payload=%7B%7D", signedWith(secret, "{}"), "{}")),
      /JSON inside the form/,
    ],
    [
      "a secret that is over",
      diagnosisOf(github, requestOf("{}", signedWith("old", "{}")), { endedSecrets: ["old"] }),
      /no longer accepted/,
    ],
    [
      "an empty secret",
      diagnosisOf(github, requestOf("{}", signedWith("", "{}"))),
      /made with an empty secret/,
    ],
    [
      "a wrong token",
      diagnosisOf(gitHosts.gitlab.proof, requestOf("{}", { "X-Gitlab-Token": "sha256=" })),
      /the secret on the host differs/,
    ],
    [
      "only the prefix that the project configured",
      diagnosisOf(
        gitHosts.generic.proof({ ...webhookDefaults, verifyMode: "hmac", signaturePrefix: "hmac-" }),
        requestOf("{}", { "X-CICD-Token": "hmac-" }),
      ),
      /X-CICD-Token is empty/,
    ],
    [
      "another secret",
      diagnosisOf(github, requestOf("{}", signedWith("other", "{}"))),
      /differs, or the body was changed/,
    ],
    [
      "HMAC for a token",
      diagnosisOf(gitHosts.gitlab.proof, requestOf("{}", { "X-Gitlab-Token": hmac(secret, "{}") })),
      /check “Proof of the sender”/,
    ],
    [
      "a stale timestamp",
      diagnosisOf(
        gitHosts.gitee.proof,
        requestOf("{}", {
          "X-Gitee-Token": hmac(secret, `1633679083918\n${secret}`, "base64"),
          "X-Gitee-Timestamp": "1633679083918",
        }),
      ),
      /more than an hour off/,
    ],
  ];
  for (const [mistake, said, expected] of rows)
    test(`names ${mistake}`, () => expect(said).toMatch(expected));
});

describe("raw bytes", async () => {
  const server = await setUpApi();

  const push = (message: string) =>
    JSON.stringify({
      ref: "refs/heads/main",
      after: "a".repeat(40),
      head_commit: { id: "a".repeat(40), message },
    });
  const bodies: [string, Uint8Array, number][] = [
    ["a byte order mark", Buffer.from(`\uFEFF${push("x")}`), 202],
    ["CRLF", Buffer.from(push("x").replaceAll(",", ",\r\n")), 202],
    ["4-byte characters", Buffer.from(push("😀 𝒳")), 202],
    [
      "invalid UTF-8",
      Buffer.concat([Buffer.from(push("x").slice(0, -3)), Buffer.from([0xff, 0xfe]), Buffer.from('"}}')]),
      202,
    ],
    ["a form", Buffer.from(`payload=${encodeURIComponent(push("100% + ü"))}`), 202],
    ["no JSON", Buffer.from("Hello, World!"), 400],
    ["deep nesting", Buffer.from(`{"a":${"[".repeat(200_000)}`), 400],
  ];
  for (const [what, body, expected] of bodies)
    test(`with ${what} are verified unchanged`, async () => {
      const hook = await makeHook(server, { provider: "github", secret, debounceSeconds: 0 });
      const type = what === "a form" ? "application/x-www-form-urlencoded" : "application/json";
      const headers = {
        "content-type": type,
        "X-GitHub-Event": "push",
        "X-Hub-Signature-256": `sha256=${hmac(secret, body)}`,
      };
      const answer = await hook.deliver({ body, headers });
      expect([answer.status, answer.body.code]).toEqual([
        expected,
        expected === 202 ? "accepted" : "invalid_payload",
      ]);
      const changed = Buffer.concat([body, Buffer.from(" ")]);
      expect((await hook.deliver({ body: changed, headers })).status).toBe(401);
    });

  test("curl's default content type over bare JSON is read as JSON", async () => {
    const hook = await makeHook(server, {});
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await hook.deliver({ body: '{"event":"push","ref":"main"}', headers })).status).toBe(202);
  });

  test("the record contains the diagnosis, the response does not", async () => {
    const hook = await makeHook(server, { provider: "github", secret });
    const answer = await hook.deliver({ payload: {}, headers: { "X-Gitlab-Token": secret } });
    expect(answer.status).toBe(401);
    expect(JSON.stringify(answer.body)).not.toMatch(/GitLab|header|missing/);
    const record = await deliveryOf(server.admin, answer.body.deliveryId);
    expect(record.reason).toMatch(/check the provider/);
    expect(JSON.stringify(record)).not.toContain(secret);
  });
});
