import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { setUpPush } from "../support/api-setup.ts";
import { PushClient } from "../support/push-client.ts";
import { RawSocket } from "../support/raw-socket.ts";

const push = await setUpPush({ "push.max-message-bytes": 1000 });

afterEach(() => setSystemTime());

const send = (path: string, init: RequestInit) => fetch(push.url + path, init);
const valid = { targetType: "all", target: "", data: "x" };

async function outcome(answer: Response): Promise<[number, number]> {
  const body = (await answer.json()) as { code: number };
  return [answer.status, body.code];
}

describe("refused publishes", () => {
  test("not JSON: 400 and 40001", async () => {
    for (const body of ["", "{", "nonsense", "[]", "null", "7", '"text"'])
      expect(await outcome(await push.publish(body))).toEqual([400, 40001]);
  });

  test("too large: 413 and 41301, counted in bytes of UTF-8", async () => {
    expect(await outcome(await push.publish({ ...valid, data: "x".repeat(1000) }))).toEqual([200, 0]);
    expect(await outcome(await push.publish({ ...valid, data: "x".repeat(1001) }))).toEqual([413, 41301]);
    expect(await outcome(await push.publish({ ...valid, data: "ü".repeat(501) }))).toEqual([413, 41301]);
    expect(await outcome(await push.publish({ ...valid, data: "x".repeat(200_000) }))).toEqual([413, 41301]);
  });

  test("too large without a declared length is cut off while it is read", async () => {
    const socket = new RawSocket(push.port);
    socket.request("POST", "/feign/publish", {
      "Content-Type": "application/json",
      "Transfer-Encoding": "chunked",
    });
    const chunk = "x".repeat(50_000);
    for (let sent = 0; sent < 4; sent++) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    socket.write("0\r\n\r\n");
    const answer = await socket.answer();
    expect([answer.status, (JSON.parse(answer.body) as { code: number }).code]).toEqual([413, 41301]);
    socket.end();
  });

  test("a channel that no connection can join: 400 and 40003", async () => {
    const publishTo = async (target: string) =>
      outcome(await push.publish({ targetType: "channel", target, data: "x" }));
    expect(await publishTo("x".repeat(255))).toEqual([200, 0]);
    expect(await publishTo("x".repeat(256))).toEqual([400, 40003]);
    expect(await publishTo("ü".repeat(128))).toEqual([400, 40003]);
    expect(await publishTo("new\nline")).toEqual([400, 40003]);
  });

  test.each(["user", "temp_user"])("a %s that no connection can have: 400 and 40003", async (targetType) => {
    const publishTo = async (target: string) =>
      outcome(await push.publish({ targetType, target, data: "x" }));
    expect(await publishTo("x".repeat(255))).toEqual([200, 0]);
    expect(await publishTo("x".repeat(256))).toEqual([400, 40003]);
    expect(await publishTo("ü".repeat(128))).toEqual([400, 40003]);
  });

  test("content type: 415 and 41501", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]) {
      const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
      const body = new TextEncoder().encode(JSON.stringify(valid));
      expect(await outcome(await send("/feign/publish", { method: "POST", headers, body }))).toEqual([
        415, 41501,
      ]);
    }
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    const body = JSON.stringify(valid);
    expect(await outcome(await send("/feign/publish", { method: "POST", headers, body }))).toEqual([200, 0]);
  });

  test("a compressed body: 415 and 41501, and the reason names the header", async () => {
    const body = Bun.gzipSync(JSON.stringify(valid));
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    for (const path of ["/feign/publish", "/feign/publishBatch", "/feign/disconnect"]) {
      const answer = await send(path, { method: "POST", headers, body });
      const failure = (await answer.json()) as { code: number; message: string };
      expect([answer.status, failure.code]).toEqual([415, 41501]);
      expect(failure.message).toContain("Content-Encoding: gzip");
    }
    const plain = { ...headers, "content-encoding": "identity" };
    const sent = await send("/feign/publish", {
      method: "POST",
      headers: plain,
      body: JSON.stringify(valid),
    });
    expect(await outcome(sent)).toEqual([200, 0]);
  });

  test("404 and 40401 for what does not exist, 405 and 40501 for another method", async () => {
    for (const path of ["/feign", "/feign/", "/feign/publish/more", "/feign/Publish", "/feign/connections/7"])
      expect(await outcome(await send(path, { method: "GET" }))).toEqual([404, 40401]);
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const answer = await send("/feign/publish", { method });
      expect(answer.headers.get("allow")).toBe("POST");
      expect(await outcome(answer)).toEqual([405, 40501]);
    }
    expect(await outcome(await send("/feign/getOnlineUsers", { method: "POST" }))).toEqual([405, 40501]);
  });
});

describe("headers of a success", () => {
  test("X-Push-Id is new each time, X-Push-Receivers is the sum of both topics", async () => {
    const raw = await PushClient.open(`${push.wsUrl}?code=ann`);
    const v1 = await PushClient.open(`${push.wsUrl}?code=ann`, ["slipway.v1"]);
    const answers = [
      await push.publish({ targetType: "user", target: "ann", data: "a" }),
      await push.publish({ targetType: "user", target: "ann", data: "b" }),
    ];
    expect(answers.map((answer) => answer.headers.get("x-push-receivers"))).toEqual(["2", "2"]);
    const ids = answers.map((answer) => answer.headers.get("x-push-id"));
    expect(new Set(ids).size).toBe(2);
    expect((await v1.receivedType("message", 2)).map((frame) => frame.id as string | null)).toEqual(ids);
    raw.close();
    v1.close();
  });
});

describe("scope", () => {
  test.each(["local", "Cluster", "", "all"])(
    "%p is refused with the allowed value: 400 and 40010",
    async (scope) => {
      for (const path of ["/feign/getOnlineUsers", "/feign/connections", "/feign/disconnect"]) {
        const method = path === "/feign/disconnect" ? "POST" : "GET";
        const answer = await send(`${path}?scope=${scope}`, {
          method,
          headers: { "content-type": "application/json" },
          ...(method === "POST" && { body: JSON.stringify({ userId: "nobody" }) }),
        });
        const failure = (await answer.json()) as { code: number; message: string };
        expect([answer.status, failure.code]).toEqual([400, 40010]);
        expect(failure.message).toContain("scope must be cluster");
      }
    },
  );

  test("cluster, and none at all, are accepted", async () => {
    for (const query of ["", "?scope=cluster"])
      expect(await outcome(await send(`/feign/connections${query}`, {}))).toEqual([200, 0]);
  });
});

describe("Idempotency-Key", () => {
  test("a repeat is a no-op that returns the same id; another body is 409 and 40901", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=ida`);
    const body = { targetType: "user", target: "ida", data: "once" };
    const key = { "idempotency-key": "order-7" };
    const first = await push.publish(body, key);
    const again = await push.publish(body, key);
    expect(again.status).toBe(200);
    expect(again.headers.get("x-push-id")).toBe(first.headers.get("x-push-id"));
    expect([first, again].map(({ headers }) => headers.get("x-push-receivers"))).toEqual(["1", null]);
    for (const other of [{ data: "other" }, { ack: true }])
      expect(await outcome(await push.publish({ ...body, ...other }, key))).toEqual([409, 40901]);
    expect(await outcome(await push.publish(body, { "idempotency-key": "k".repeat(256) }))).toEqual([
      400, 40005,
    ]);
    await push.publish({ targetType: "user", target: "ida", data: "end" });
    expect(await client.received(2)).toEqual(["once", "end"]);
    client.close();
  });

  test("five minutes are five minutes, also while the system's clock is set", async () => {
    const body = { targetType: "user", target: "ida", data: "once" };
    const key = { "idempotency-key": "order-8" };
    const first = await push.publish(body, key);
    setSystemTime(new Date(Date.now() + 86_400_000));
    const again = await push.publish(body, key);
    expect(again.headers.get("x-push-id")).toBe(first.headers.get("x-push-id"));
  });

  test("equal requests that arrive together are delivered once", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=joe`);
    const body = { targetType: "user", target: "joe", data: "once" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => push.publish(body, { "idempotency-key": "together" })),
    );
    expect(new Set(answers.map((answer) => answer.headers.get("x-push-id"))).size).toBe(1);
    await push.publish({ targetType: "user", target: "joe", data: "end" });
    expect(await client.received(2)).toEqual(["once", "end"]);
    client.close();
  });

  test("a refused publish does not use its key up", async () => {
    const key = { "idempotency-key": "refused-first" };
    expect((await push.publish({ targetType: "user", data: "x" }, key)).status).toBe(400);
    expect((await push.publish(valid, key)).status).toBe(200);
  });
});

describe("order is kept per target", () => {
  test("a thousand messages published one after the other arrive in that order", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=kim&channel=order`);
    const expected = Array.from({ length: 1000 }, (_, index) => String(index));
    for (const data of expected) await push.publish({ targetType: "channel", target: "order", data });
    expect(await client.received(1000)).toEqual(expected);
    client.close();
  });
});

describe("other operations", () => {
  test("POST /feign/disconnect closes a user's connections, or one, with 4004 or the code given", async () => {
    const first = await PushClient.open(`${push.wsUrl}?code=lea`);
    const second = await PushClient.open(`${push.wsUrl}?code=lea&temp=1`, ["slipway.v1"]);
    const [welcome] = await second.receivedType("welcome");
    const one = await push.post("/feign/disconnect", { connectionId: welcome?.connectionId, code: 4321 });
    expect(one.headers.get("x-push-connections")).toBe("1");
    expect((await second.ended()).code).toBe(4321);
    expect(first.closed).toBeNull();
    expect(await (await push.post("/feign/disconnect", { userId: "lea" })).json()).toMatchObject({
      successful: true,
      msg: "1 connection on this instance",
      data: "disconnect success",
    });
    expect((await first.ended()).code).toBe(4004);
    for (const wrong of [{}, { userId: "" }, { userId: "a", connectionId: "b" }, { userId: 7 }])
      expect(await outcome(await push.post("/feign/disconnect", wrong))).toEqual([400, 40003]);
    expect(await outcome(await push.post("/feign/disconnect", { userId: "a", code: 1006 }))).toEqual([
      400, 40007,
    ]);
  });

  test("disconnect, join, leave and grant say how many connections they concern", async () => {
    const clients = [
      await PushClient.open(`${push.wsUrl}?code=noa`),
      await PushClient.open(`${push.wsUrl}?code=noa`),
    ];
    const orders: [path: string, order: object][] = [
      ["channels/join", { userId: "noa", channel: "room" }],
      ["channels/leave", { userId: "noa", channel: "room" }],
      ["channels/grant", { userId: "noa", channels: ["room"] }],
      ["disconnect", { userId: "noa" }],
    ];
    for (const [path, order] of orders) {
      const answer = await push.post(`/feign/${path}`, order);
      expect([path, answer.headers.get("x-push-connections")]).toEqual([path, "2"]);
      expect(await answer.json()).toMatchObject({ code: 0, msg: "2 connections on this instance" });
    }
    for (const client of clients) await client.ended();
    const nobody = await push.post("/feign/channels/join", { userId: "nobody", channel: "room" });
    expect(await nobody.json()).toMatchObject({
      msg: "0 connections on this instance",
      data: "join success",
    });
  });

  test("GET /feign/connections returns counts by kind, channels and buffers", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=mia&channel=a&channel=b&temp=1`);
    const { data } = (await (await push.get("/feign/connections?userId=mia")).json()) as {
      data: Record<string, unknown>;
    };
    expect(data).toMatchObject({
      total: 1,
      normal: 0,
      temporary: 1,
      channelCount: 2,
      channels: [
        { name: "a", members: 1 },
        { name: "b", members: 1 },
      ],
      buffers: { bufferedBytes: 0, lagging: 0 },
      connections: [{ userId: "mia", kind: "temporary", protocol: "raw", channels: ["a", "b"] }],
    });
    // An application is not told of the connections of the console.
    expect(data).not.toHaveProperty("console");
    client.close();
  });

  test("its times are those of the system clock, also after the clock was set, for any lifetime of the verify response", async () => {
    const { answer } = push.verify;
    // As text, because the largest integer of other languages is not a safe integer in JavaScript.
    push.verify.answer = () => new Response('{"userId":"max","maxLifetime":9223372036854775807}');
    const client = await PushClient.open(`${push.wsUrl}?code=max&temp=1`);
    setSystemTime(new Date(Date.now() + 86_400_000));
    const nowMs = Date.now();
    const v1 = await PushClient.open(`${push.wsUrl}?code=max&temp=1`, ["slipway.v1"]);
    const [welcome] = await v1.receivedType("welcome");
    const report = await push.get("/feign/connections?userId=max");
    push.verify.answer = answer;
    expect(report.status).toBe(200);
    const { data } = (await report.json()) as {
      data: { connections: { openedAt: string; endsAt: string }[] };
    };
    expect(data.connections).toHaveLength(2);
    for (const { openedAt, endsAt } of data.connections) {
      expect(Math.abs(Date.parse(openedAt) - nowMs)).toBeLessThan(60_000);
      expect(Date.parse(endsAt)).toBeGreaterThan(nowMs + 10 * 365 * 86_400_000);
    }
    const expiresAt = new Date(Number(welcome?.expiresAt));
    expect(Math.abs(expiresAt.getTime() - Date.parse(data.connections[1]?.endsAt ?? ""))).toBeLessThan(1000);
    for (const one of [client, v1]) one.close();
  });

  test("POST /feign/channels/join and leave apply to the connections open now", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=ned`);
    await push.post("/feign/channels/join", { userId: "ned", channel: "private-room" });
    await push.publish({ targetType: "channel", target: "private-room", data: "in" });
    await push.post("/feign/channels/leave", { userId: "ned", channel: "private-room" });
    await push.publish({ targetType: "channel", target: "private-room", data: "out" });
    await push.publish({ targetType: "user", target: "ned", data: "end" });
    expect(await client.received(2)).toEqual(["in", "end"]);
    expect(
      await outcome(await push.post("/feign/channels/join", { userId: "ned", channel: "a\nb" })),
    ).toEqual([400, 40003]);
    client.close();
  });
});
