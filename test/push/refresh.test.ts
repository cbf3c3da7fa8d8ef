import { afterEach, describe, expect, test } from "bun:test";
import { type PushEvents, SlipwayPush } from "../../client/slipway-push.ts";
import type { Config } from "../../src/config/config.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { jwtSecret, signedCode } from "../support/signed-code.ts";
import { type FrameClient, openV1, type TransportPath, transports } from "../support/transports.ts";

const apps: PushApp[] = [];
const closing: { close(): void }[] = [];

afterEach(async () => {
  for (const client of closing.splice(0)) client.close();
  await Promise.all(apps.splice(0).map((app) => app.stop()));
});

async function start(values: Partial<Config>): Promise<PushApp> {
  const app = await startPushApp({ "push.ping-interval": 200, ...values });
  apps.push(app);
  return app;
}

async function openOver(transport: TransportPath, app: PushApp, query: string): Promise<FrameClient> {
  const client = await openV1(transport, app.url, query);
  closing.push(client);
  return client;
}

async function open(app: PushApp, query: string, protocols: string[] = []): Promise<PushClient> {
  const client = await PushClient.open(`${app.wsUrl}?${query}`, protocols);
  closing.push(client);
  return client;
}

/** A verify service whose codes are `<user>.<milliseconds until the end>`. */
function answerWithEnd(app: PushApp): void {
  app.verify.answer = (code) => {
    const [userId = "", lifeMs = ""] = code.split(".");
    if (userId.startsWith("bad")) return new Response("no", { status: 401 });
    if (userId === "down") return new Response("down", { status: 500 });
    const expiresAt = lifeMs === "" ? null : new Date(Date.now() + Number(lifeMs)).toISOString();
    return Response.json({ userId, expiresAt, channels: lifeMs === "90000" ? ["room-new"] : null });
  };
}

const v1 = ["slipway.v1"];

describe("by default", () => {
  test("a connection outlives its code, has no end, and is not asked", async () => {
    const app = await start({});
    answerWithEnd(app);
    const client = await open(app, "code=ann.1", v1);
    expect((await client.receivedType("welcome"))[0]).toMatchObject({ expiresAt: null });
    client.send(JSON.stringify({ type: "refresh", code: "ann.1" }));
    expect((await client.receivedType("error"))[0]).toMatchObject({ code: "refresh_not_asked" });
    expect(app.verify.requests.length).toBe(1);
    expect(client.closed).toBeNull();
  });
});

describe("push.expire-with-code", () => {
  const settings = { "push.expire-with-code": true };

  test("a raw connection is closed with 4005 when its code expires; a code without an end stays", async () => {
    const app = await start(settings);
    answerWithEnd(app);
    const endless = await open(app, "code=ann");
    const raw = await open(app, "code=bob.500");
    expect(await raw.ended()).toEqual({ code: 4005, reason: "code expired" });
    expect(raw.frames).toEqual([]);
    expect(endless.closed).toBeNull();
    expect(await app.online()).toEqual(["ann"]);
  });

  test("an end of another format is an unknown answer", async () => {
    const app = await start(settings);
    app.verify.answer = () => Response.json({ userId: "ann", expiresAt: "tomorrow" });
    const client = new PushClient(`${app.wsUrl}?code=ann`);
    expect((await client.ended()).code).not.toBe(1000);
    expect(client.isOpen).toBe(false);
  });

  test.each(transports)(
    "a slipway.v1 client of %s is asked, presents a code, and keeps its connection and its channels",
    async (transport) => {
      const app = await start(settings);
      answerWithEnd(app);
      const client = await openOver(transport, app, "code=ann.4000&channel=news");
      const [welcome] = await client.receivedType("welcome");
      const [refresh] = await client.receivedType("refresh");
      expect(Math.abs(Number(refresh?.expiresAt) - Number(welcome?.expiresAt))).toBeLessThan(50);
      client.send(JSON.stringify({ type: "refresh", code: "ann.3600000" }));
      const [refreshed] = await client.receivedType("refreshed");
      expect(Number(refreshed?.expiresAt)).toBeGreaterThan(Date.now() + 3_000_000);
      await eventually(
        "the first end has passed",
        () => Date.now() > Number(welcome?.expiresAt) + 500,
        20_000,
      );
      await app.publish({ targetType: "channel", target: "news", data: "still here" });
      await client.receivedType("message");
      expect(client.closed).toBeNull();
    },
    60_000,
  );

  test.each(transports)(
    "channels of the new code replace those that were granted (%s)",
    async (transport) => {
      const app = await start(settings);
      answerWithEnd(app);
      const client = await openOver(transport, app, "code=ann.10000&channel=news");
      await client.receivedType("refresh");
      client.send(JSON.stringify({ type: "refresh", code: "ann.90000" }));
      await client.receivedType("refreshed");
      expect(client.ofType("left")).toEqual([{ type: "left", channel: "news" }]);
      expect(client.ofType("joined")).toEqual([{ type: "joined", channel: "room-new" }]);
    },
    60_000,
  );

  test("a code of another user, or one that is refused or cannot be verified, does not extend the connection", async () => {
    const app = await start(settings);
    answerWithEnd(app);
    const cases = [
      { code: "bob.60000", reason: "refresh_rejected" },
      { code: "bad.60000", reason: "refresh_rejected" },
      { code: "", reason: "refresh_rejected" },
      { code: "down.60000", reason: "refresh_unavailable" },
    ];
    const present = async ({ code, reason }: { code: string; reason: string }) => {
      const client = await open(app, "code=ann.6000", v1);
      await client.receivedType("refresh");
      client.send(JSON.stringify({ type: "refresh", code }));
      client.send(JSON.stringify({ type: "refresh", code }));
      const errors = await client.receivedType("error", 2);
      expect(errors.map((error) => error.code).toSorted()).toEqual([reason, "refresh_not_asked"].toSorted());
      expect((await client.ended(20_000)).code).toBe(4005);
    };
    await Promise.all(cases.map(present));
  }, 60_000);

  test("a code that ends later than any date can be leaves the connection listed, with an end of today's calendar", async () => {
    const app = await start({ ...settings, "push.jwt.secrets": [jwtSecret] });
    const code = await signedCode({ sub: "ann", exp: Number.MAX_SAFE_INTEGER });
    app.verify.answer = () => new Response('{"userId":"ann","expiresAt":9223372036854775807}');
    for (const query of [`code=${code}`, "code=largest"]) {
      const client = await open(app, query, v1);
      const [welcome] = await client.receivedType("welcome");
      expect(new Date(Number(welcome?.expiresAt)).getFullYear()).toBeLessThan(10_000);
    }
    const report = await app.get("/feign/connections?userId=ann");
    expect(report.status).toBe(200);
    const { data } = (await report.json()) as { data: { connections: { endsAt: string }[] } };
    expect(
      data.connections.map(({ endsAt }) => Date.parse(endsAt) > Date.now() + 10 * 365 * 86_400_000),
    ).toEqual([true, true]);
  });

  test("the end of a JWT is that of the connection, with the skew of clocks", async () => {
    const app = await start({ ...settings, "push.jwt.secrets": [jwtSecret] });
    const exp = Math.floor(Date.now() / 1000) - 25;
    const raw = await open(app, `code=${await signedCode({ sub: "ann", exp })}`);
    expect((await raw.ended()).code).toBe(4005);
  });
});

describe("push.max-lifetime", () => {
  test("the client answers with a new code and stays connected; without a code it reconnects until there is none", async () => {
    const app = await start({ "push.max-lifetime": 4000 });
    let codes = 0;
    const seen: PushEvents["status"][] = [];
    const push = new SlipwayPush({
      url: app.wsUrl,
      code: () => (++codes > 3 ? null : "ann"),
      minDelayMs: 10,
    });
    closing.push(push);
    push.on("status", (status) => seen.push(status));
    let opened = 0;
    push.on("open", () => opened++);
    push.open();
    await eventually("two codes were presented on the open connection", () => codes >= 3, 20_000);
    expect(opened).toBe(1);
    await eventually("it has ended", () => push.status.state === "closed", 20_000);
    expect(seen.map(({ closeCode }) => closeCode)).toContain(4005);
    expect(opened).toBe(1);
    expect(app.verify.requests.length).toBe(3);
  }, 60_000);

  test("a raw connection ends", async () => {
    const app = await start({ "push.max-lifetime": 300 });
    const raw = await open(app, "code=ann");
    expect((await raw.ended()).code).toBe(4005);
    expect(await app.metric('slipway_push_closes_total{code="4005"}')).toBe(1);
  });
});
