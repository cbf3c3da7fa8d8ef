import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gitHosts } from "../../src/git-host/hosts.ts";
import {
  hmacOf,
  isSignedBy,
  type SignatureScheme,
  type SignedRequest,
} from "../../src/git-host/proof/signature.ts";
import { diagnose } from "../../src/git-host/signature-doctor.ts";
import { webhookDefaults } from "../../src/model/webhook-config.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { deliveryOf, hmac, makeHook } from "../support/hook.ts";

const secret = "It's a Secret to Everybody";

function requestOf(
  body: string | Uint8Array,
  headers: Record<string, string>,
  form: string | null = null,
): SignedRequest {
  return {
    body: typeof body === "string" ? Buffer.from(body) : body,
    headers: new Headers(headers),
    query: new URLSearchParams(),
    formPayload: () => (form === null ? null : Buffer.from(form)),
  };
}

function isSigned(scheme: SignatureScheme, request: SignedRequest, nowMs = 0, key = secret): boolean {
  return isSignedBy(key, scheme, webhookDefaults, request, nowMs);
}

describe("the signature", () => {
  test("of GitHub's own example is the one in its documentation", () => {
    const expected = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    expect(hmacOf(secret, Buffer.from("Hello, World!")).toString("hex")).toBe(expected);
    const headers = { "X-Hub-Signature-256": `sha256=${expected}` };
    expect(isSigned(gitHosts.github.signature, requestOf("Hello, World!", headers))).toBe(true);
    expect(isSigned(gitHosts.github.signature, requestOf("Hello, World?", headers))).toBe(false);
  });

  test("of Gitee is the password, or a signed timestamp of the last hour", () => {
    const { signature } = gitHosts.gitee;
    const sentAtMs = 1_633_679_083_918;
    const timestamp = String(sentAtMs);
    const sign = hmac(secret, `${timestamp}\n${secret}`, "base64");
    const signed = { "X-Gitee-Token": sign, "X-Gitee-Timestamp": timestamp };
    expect(isSigned(signature, requestOf("{}", { "X-Gitee-Token": secret }))).toBe(true);
    expect(isSigned(signature, requestOf("{}", signed), sentAtMs + 60_000)).toBe(true);
    expect(
      isSigned(
        signature,
        requestOf("{}", { ...signed, "X-Gitee-Token": encodeURIComponent(sign) }),
        sentAtMs,
      ),
    ).toBe(true);
    expect(isSigned(signature, requestOf("{}", signed), sentAtMs + 3_600_001)).toBe(false);
    expect(isSigned(signature, requestOf("{}", { "X-Gitee-Token": sign }), sentAtMs)).toBe(false);
    expect(isSigned(signature, requestOf("{}", { ...signed, "X-Gitee-Timestamp": "now" }), sentAtMs)).toBe(
      false,
    );
  });

  test("of Bitbucket is in X-Hub-Signature, of Gogs and Gitea in their own headers", () => {
    const digest = hmac(secret, "{}");
    expect(
      isSigned(gitHosts.bitbucket.signature, requestOf("{}", { "X-Hub-Signature": `sha256=${digest}` })),
    ).toBe(true);
    expect(
      isSigned(gitHosts.bitbucket.signature, requestOf("{}", { "X-Hub-Signature-256": `sha256=${digest}` })),
    ).toBe(false);
    expect(isSigned(gitHosts.gogs.signature, requestOf("{}", { "X-Gogs-Signature": digest }))).toBe(true);
    expect(isSigned(gitHosts.gitea.signature, requestOf("{}", { "X-Gitea-Signature": digest }))).toBe(true);
    expect(
      isSigned(gitHosts.gitea.signature, requestOf("{}", { "X-Hub-Signature-256": `sha256=${digest}` })),
    ).toBe(true);
    expect(isSigned(gitHosts.gitea.signature, requestOf("{}", { "X-Gitea-Signature": "" }))).toBe(false);
  });

  test("of GitLab, Codeup and the specification's token hosts is the secret itself, each in its own header", () => {
    const headers = {
      ...{ gitlab: "X-Gitlab-Token", codeup: "X-Codeup-Token" },
      ...{ hostb: "X-HostB-Token", hostc: "X-HostC-Token", hostd: "X-HostD-Token" },
    } as const;
    for (const provider of Object.keys(headers) as (keyof typeof headers)[])
      for (const [owner, header] of Object.entries(headers)) {
        const signed = isSigned(gitHosts[provider].signature, requestOf("{}", { [header]: secret }));
        expect([provider, header, signed]).toEqual([provider, header, owner === provider]);
      }
  });

  test("of Gitea's form bodies is over the JSON inside, of GitHub's over the form", () => {
    const form = `payload=${encodeURIComponent("{}")}`;
    const ofJson = {
      "X-Gitea-Signature": hmac(secret, "{}"),
      "X-Hub-Signature-256": `sha256=${hmac(secret, "{}")}`,
    };
    expect(isSigned(gitHosts.gitea.signature, requestOf(form, ofJson, "{}"))).toBe(true);
    expect(isSigned(gitHosts.github.signature, requestOf(form, ofJson, "{}"))).toBe(false);
    const ofForm = { "X-Hub-Signature-256": `sha256=${hmac(secret, form)}` };
    expect(isSigned(gitHosts.github.signature, requestOf(form, ofForm, "{}"))).toBe(true);
  });

  test("is never satisfied by an empty proof", () => {
    for (const { signature } of Object.values(gitHosts))
      expect(isSigned(signature, requestOf("{}", {}))).toBe(false);
  });
});

describe("the diagnosis of a failed signature", () => {
  const diagnosisOf = (scheme: SignatureScheme, request: SignedRequest, more: object = {}) =>
    diagnose({
      secrets: [secret],
      endedSecrets: [],
      scheme,
      place: webhookDefaults,
      request,
      nowMs: 0,
      ...more,
    });
  const github = gitHosts.github.signature;
  const signedWith = (key: string, body: string, prefix = "sha256=") => ({
    "X-Hub-Signature-256": prefix + hmac(key, body),
  });
  const atGitlab = (headers: Record<string, string>) =>
    diagnosisOf(gitHosts.gitlab.signature, requestOf("{}", { ...signedWith(secret, "{}"), ...headers }));
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
    ["another secret", diagnosisOf(github, requestOf("{}", signedWith("other", "{}"))), /differs/],
    [
      "HMAC for a token",
      diagnosisOf(gitHosts.gitlab.signature, requestOf("{}", { "X-Gitlab-Token": hmac(secret, "{}") })),
      /check “Proof of the sender”/,
    ],
    [
      "a stale timestamp",
      diagnosisOf(
        gitHosts.gitee.signature,
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

describe("raw bytes", () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer();
  });
  afterAll(() => server.stop());

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
