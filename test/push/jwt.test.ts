import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, exportPKCS8, exportSPKI, type JWK, type JWTPayload } from "jose";
import pino from "pino";
import { jwtFaults } from "../../src/app/codes/jwt-codes.ts";
import { manualClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import { rotatingKeys } from "../../src/push/admission/key-set.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { jwtSecret, newKeyPair, signedCode } from "../support/signed-code.ts";

const folder = mkdtempSync(join(tmpdir(), "slipway-jwt-"));
const apps: PushApp[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.stop()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(values: Partial<Config>): Promise<PushApp> {
  const app = await startPushApp(values);
  apps.push(app);
  return app;
}

async function statusOf(app: PushApp, code: string, query = ""): Promise<number> {
  const socket = new RawSocket(app.port);
  socket.request("GET", `/ws?code=${code}${query}`, upgradeHeaders);
  const { status } = await socket.answer();
  socket.end();
  return status;
}

const seconds = () => Math.floor(Date.now() / 1000);
const withSecret = { "push.jwt.secrets": [jwtSecret] };

describe("claims", () => {
  let app: PushApp;
  beforeAll(async () => {
    app = await startPushApp({ ...withSecret, "push.jwt.audience": "push", "push.jwt.issuer": "shop" });
  });
  afterAll(() => app.stop());
  const rightful = { sub: "42", aud: "push", iss: "shop" };

  test("sub is the user; channels, temporary and lifetime are those of the connection", async () => {
    const claims = { ...rightful, channels: ["private-orders-42", "room-*"], lifetime: 300 };
    const url = `${app.wsUrl}?code=${await signedCode(claims)}&temp=1&channel=room-1`;
    const client = await PushClient.open(url, ["slipway.v1"]);
    const [welcome] = await client.receivedType("welcome");
    expect(welcome).toMatchObject({
      userId: "42",
      kind: "temporary",
      channels: ["private-orders-42", "room-1"],
    });
    expect(Math.abs(Number(welcome?.expiresAt) - Date.now() - 300_000)).toBeLessThan(20_000);
    client.close();
    expect(app.verify.requests).toEqual([]);
  });

  const refused: [string, JWTPayload][] = [
    ["without sub", { aud: "push", iss: "shop" }],
    ["with an empty sub", { ...rightful, sub: "" }],
    ["with a user of the console", { ...rightful, sub: "slipway:1" }],
    ["that has expired", { ...rightful, exp: seconds() - 60 }],
    ["that is not valid yet", { ...rightful, nbf: seconds() + 120 }],
    ["for another audience", { ...rightful, aud: "billing" }],
    ["of another issuer", { ...rightful, iss: "mallory" }],
    ["with channels that are no list", { ...rightful, channels: "news" }],
    ["with a jti and no iat", { ...rightful, jti: "a", iat: undefined as never }],
    ["with a jti, issued six minutes ago", { ...rightful, jti: "b", iat: seconds() - 360 }],
    ["with a jti, issued in the future", { ...rightful, jti: "c", iat: seconds() + 120 }],
  ];
  test.each(refused)("a token %s is refused", async (_name, claims) => {
    expect(await statusOf(app, await signedCode(claims))).toBe(401);
  });

  test("without exp it is refused; an end 20 s ago is within the skew of clocks", async () => {
    expect(await statusOf(app, await signedCode({ ...rightful, exp: undefined as never }))).toBe(401);
    expect(await statusOf(app, await signedCode({ ...rightful, exp: seconds() - 20 }))).toBe(101);
  });

  test("a token with jti is accepted once, one without it again", async () => {
    const once = await signedCode({ ...rightful, jti: "d" });
    const answers = await Promise.all([1, 2, 3].map(() => statusOf(app, once)));
    expect(answers.toSorted()).toEqual([101, 401, 401]);
    const often = await signedCode(rightful);
    expect([await statusOf(app, often), await statusOf(app, often)]).toEqual([101, 101]);
  });

  test("a token that is refused is never sent to verify-uri; other codes are", async () => {
    const before = app.verify.requests.length;
    expect(await statusOf(app, `${await signedCode(rightful)}x`)).toBe(401);
    expect(app.verify.requests.length).toBe(before);
    expect(await statusOf(app, "plain-code")).toBe(101);
    expect(app.verify.requests.length).toBe(before + 1);
  });
});

describe("algorithms", () => {
  test("none, and a public key used as a secret, are refused", async () => {
    const { publicKey } = await newKeyPair("RS256");
    const pem = await exportSPKI(publicKey);
    writeFileSync(join(folder, "rsa.pem"), pem);
    const app = await start({ ...withSecret, "push.jwt.key-file": join(folder, "rsa.pem") });
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const none = `${encode({ alg: "none" })}.${encode({ sub: "42", exp: seconds() + 60 })}.`;
    expect(await statusOf(app, none)).toBe(401);
    expect(await statusOf(app, await signedCode({ sub: "42" }, Buffer.from(pem)))).toBe(401);
    expect(
      await statusOf(app, await signedCode({ sub: "42" }, Buffer.from("another secret of the shop, wrong"))),
    ).toBe(401);
    expect(
      await statusOf(app, await signedCode({ sub: "42" }, Buffer.from(jwtSecret), { alg: "HS512" })),
    ).toBe(401);
    expect(await statusOf(app, await signedCode({ sub: "42" }))).toBe(101);
    expect(app.verify.requests).toEqual([]);
  });

  test("RS256, ES256 and EdDSA with the keys of one file, PEM or key set", async () => {
    const algorithms = ["RS256", "ES256", "EdDSA"];
    const pairs = await Promise.all(algorithms.map(newKeyPair));
    const pem = (await Promise.all(pairs.map(({ publicKey }) => exportSPKI(publicKey)))).join("\n");
    const keys = await Promise.all(pairs.map(({ publicKey }) => exportJWK(publicKey)));
    writeFileSync(join(folder, "all.pem"), pem);
    writeFileSync(join(folder, "all.json"), JSON.stringify({ keys }));
    for (const name of ["all.pem", "all.json"]) {
      const app = await start({ "push.jwt.key-file": join(folder, name) });
      for (const [index, alg] of algorithms.entries()) {
        const key = pairs[index]?.privateKey as CryptoKey;
        expect(await statusOf(app, await signedCode({ sub: alg }, key, { alg }))).toBe(101);
        const { privateKey: foreign } = await newKeyPair(alg);
        expect(await statusOf(app, await signedCode({ sub: alg }, foreign, { alg }))).toBe(401);
      }
    }
  });

  test("a key file that cannot be used is named", async () => {
    const { privateKey } = await newKeyPair("ES256");
    writeFileSync(join(folder, "private.pem"), await exportPKCS8(privateKey));
    const faultOf = async (name: string) =>
      (await jwtFaults(configOf({ "push.jwt.key-file": join(folder, name) })))[0]?.message;
    expect(await faultOf("private.pem")).toContain("only the public one belongs here");
    expect(await faultOf("missing.pem")).toContain("missing.pem");
    writeFileSync(join(folder, "secret.json"), JSON.stringify({ kty: "oct", k: "AAAA" }));
    expect(await faultOf("secret.json")).toContain("no key is for RS256, ES256 or EdDSA");
  });
});

describe("a key set behind an address", () => {
  let keys: JWK[] | null = [];
  let requests = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      requests++;
      return keys ? Response.json({ keys }) : new Response("away", { status: 502 });
    },
  });
  const url = `${server.url.origin}/keys`;
  afterAll(() => server.stop(true));

  test("its keys verify; without an answer the code is refused with 503", async () => {
    const { publicKey, privateKey } = await newKeyPair("ES256");
    const sign = () => signedCode({ sub: "42" }, privateKey, { alg: "ES256", kid: "one" });
    keys = null;
    const away = await start({ "push.jwt.jwks-url": url });
    expect(await statusOf(away, await sign())).toBe(503);
    keys = [{ ...(await exportJWK(publicKey)), kid: "one" }];
    const app = await start({ "push.jwt.jwks-url": url });
    requests = 0;
    expect(await statusOf(app, await sign())).toBe(101);
    expect(await statusOf(app, await sign())).toBe(101);
    expect(requests).toBe(1);
  });

  const published = async (key: CryptoKey, kid?: string): Promise<JWK> => ({
    ...(await exportJWK(key)),
    ...(kid === undefined ? {} : { kid }),
  });

  test.each([
    ["a new key id", "one", "two"],
    ["the same key id", "one", "one"],
    ["no key ids", undefined, undefined],
  ])(
    "a token of a new key with %s is never refused for good, even just after a made-up token",
    async (_, before, after) => {
      const [old, fresh, foreign] = await Promise.all([1, 2, 3].map(() => newKeyPair("ES256")));
      const sign = (pair: typeof old, kid?: string) =>
        signedCode({ sub: "42" }, pair?.privateKey as CryptoKey, { alg: "ES256", ...(kid && { kid }) });
      keys = [await published(old?.publicKey as CryptoKey, before)];
      const app = await start({ "push.jwt.jwks-url": url });
      expect(await statusOf(app, await sign(old, before))).toBe(101);
      // The keys are read again at most once in two seconds.
      await Bun.sleep(2_100);
      requests = 0;
      // Nobody can say more about it than the keys that were read after it arrived.
      expect(await statusOf(app, await sign(foreign, "made-up"))).toBe(401);
      keys = [await published(fresh?.publicKey as CryptoKey, after)];
      const socket = new RawSocket(app.port);
      socket.request("GET", `/ws?code=${await sign(fresh, after)}`, upgradeHeaders);
      const { status, headers, body } = await socket.answer();
      socket.end();
      expect([status, headers.get("retry-after"), JSON.parse(body).code]).toEqual([503, "2", 50304]);
      // Made-up key ids go on, and let the keys be read no more often than the pause.
      const stranger = async () => statusOf(app, await sign(foreign, crypto.randomUUID()));
      const startedAt = performance.now();
      await eventually("the new key is known", async () => {
        await Promise.all([stranger(), stranger(), stranger()]);
        return (await statusOf(app, await sign(fresh, after))) === 101;
      });
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      expect(requests).toBeLessThanOrEqual(4);
    },
  );

  test("in reject-mode close, a key that cannot be looked up now is 4100", async () => {
    const { privateKey } = await newKeyPair("ES256");
    keys = null;
    const app = await start({ "push.jwt.jwks-url": url, "push.reject-mode": "close" });
    const code = await signedCode({ sub: "42" }, privateKey, { alg: "ES256", kid: "one" });
    const client = await PushClient.open(`${app.wsUrl}?code=${code}`);
    expect((await client.ended()).code).toBe(4100);
  });

  test("the keys of the file verify while the address cannot be read", async () => {
    const { publicKey, privateKey } = await newKeyPair("ES256");
    writeFileSync(join(folder, "ec.pem"), await exportSPKI(publicKey));
    keys = null;
    const app = await start({ "push.jwt.jwks-url": url, "push.jwt.key-file": join(folder, "ec.pem") });
    requests = 0;
    expect(await statusOf(app, await signedCode({ sub: "42" }, privateKey, { alg: "ES256" }))).toBe(101);
    expect(requests).toBe(0);
  });

  test("earlier keys outlive an outage, and only some tokens wait for a read", async () => {
    const clock = manualClock();
    const [one, two] = [await newKeyPair("ES256"), await newKeyPair("ES256")];
    let current = { keys: [{ ...(await published(one.publicKey, "one")), kty: "EC" }] };
    const gate = { opened: Promise.resolve() };
    let loads = 0;
    let isAway = false;
    const { find, update } = rotatingKeys({
      load: async () => {
        loads++;
        await gate.opened;
        if (isAway) throw new Error("away");
        return current;
      },
      clock,
      onFault() {},
    });
    const count = async (kid: string) => (await find({ alg: "ES256", kid })).length;
    expect([await count("one"), await update(), await count("one"), loads]).toEqual([0, true, 1, 1]);
    current = { keys: [{ ...(await published(two.publicKey, "two")), kty: "EC" }] };
    expect([await update(), await count("two"), loads]).toEqual([false, 0, 1]);
    clock.advance(2_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.opened = promise;
    const updates = Array.from({ length: 1_000 }, () => update());
    let settled = 0;
    for (const each of updates) void each.then(() => settled++);
    // One reads, and a hundred wait for it; the others may try again.
    await eventually("the others are answered", () => settled === 899);
    expect(loads).toBe(2);
    resolve();
    expect((await Promise.all(updates)).filter((isCurrent) => isCurrent)).toHaveLength(1);
    expect([await count("two"), await count("one")]).toEqual([1, 0]);
    isAway = true;
    clock.advance(2_000);
    expect([await update(), await count("two")]).toEqual([false, 1]);
    clock.advance(3_600_000);
    expect([await count("two"), loads]).toEqual([1, 4]);
  });
});

describe("why a token was refused", () => {
  const logTo = (lines: string[]) => pino({}, { write: (line) => lines.push(line) });

  test.each([
    ["jwt_audience", { aud: "billing" }, "It is for billing (aud); push.jwt.audience is push."],
    ["jwt_expired", { exp: seconds() - 60 }, "the clock of this server shows"],
    ["jwt_not_yet", { nbf: seconds() + 120 }, "the clock of this server shows"],
    ["jwt_issued", { jti: "a", iat: seconds() - 360 }, "the clock of this server shows"],
    ["jwt_used", { jti: "twice" }, "Its jti was used before."],
    ["jwt_form", { channels: "news" }, "wrong form"],
  ] as const)(
    "%s is in the log and in the trace of its user, and the client learns only 401",
    async (code, claims, text) => {
      const lines: string[] = [];
      const app = await startPushApp({ ...withSecret, "push.jwt.audience": "push" }, logTo(lines));
      apps.push(app);
      const token = await signedCode({ sub: "42", aud: "push", ...claims });
      if (code === "jwt_used") expect(await statusOf(app, token)).toBe(101);
      const socket = new RawSocket(app.port);
      socket.request("GET", `/ws?code=${token}`, upgradeHeaders);
      const answer = await socket.answer();
      socket.end();
      expect([answer.status, answer.body]).toEqual([401, expect.not.stringContaining("aud")]);
      expect(lines.join("")).toContain(code);
      expect(lines.join("")).not.toContain(token);
      const { data } = (await (await app.get("/feign/messages?user=42")).json()) as { data: unknown };
      expect(data).toMatchObject({ refusedTokens: [{ cause: { code }, isSigned: true }] });
      expect(JSON.stringify(data)).toContain(text);
    },
  );

  test("an unknown key is marked as unsigned, and strangers displace nothing and write one line a second", async () => {
    const { publicKey, privateKey } = await newKeyPair("ES256");
    writeFileSync(
      join(folder, "known.json"),
      JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "one" }] }),
    );
    const lines: string[] = [];
    const app = await startPushApp({ "push.jwt.key-file": join(folder, "known.json") }, logTo(lines));
    apps.push(app);
    const header = { alg: "ES256", kid: "one" };
    expect(
      await statusOf(app, await signedCode({ sub: "42", exp: seconds() - 60 }, privateKey, header)),
    ).toBe(401);
    const stranger = await newKeyPair("ES256");
    const forged = await signedCode({ sub: "42" }, stranger.privateKey, { alg: "ES256", kid: "two" });
    for (let count = 0; count < 1_100; count += 50)
      await Promise.all(Array.from({ length: 50 }, () => statusOf(app, forged)));
    const { data } = (await (await app.get("/feign/messages?user=42")).json()) as {
      data: { refusedTokens: { cause: { code: string }; isSigned: boolean }[] };
    };
    expect(data.refusedTokens).toHaveLength(11);
    expect(data.refusedTokens[0]).toMatchObject({ cause: { code: "jwt_unknown_key" }, isSigned: false });
    expect(data.refusedTokens.map(({ cause }) => cause.code)).toContain("jwt_expired");
    expect(lines.filter((line) => line.includes("JWTs refused")).length).toBeLessThan(30);
  });
});
