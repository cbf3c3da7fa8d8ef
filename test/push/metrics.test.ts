import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";

let push: PushApp;

afterEach(() => push.stop());

const metric = (name: string) => push.metric(`slipway_push_${name}`);

describe("metrics", () => {
  test("connections by kind, admissions by result, messages and deliveries, closes by code, buffers, verify latency, loop lag", async () => {
    push = await startPushApp();
    const clients = [
      await PushClient.open(`${push.wsUrl}?code=ann&channel=news`),
      await PushClient.open(`${push.wsUrl}?code=ann&temp=1`),
    ];
    await PushClient.open(`${push.wsUrl}?code=bad`).catch(() => {});
    await push.publish({ targetType: "all", data: "x" });
    await push.publish({ targetType: "channel", target: "news", data: "x" });
    const expected: Record<string, number> = {
      'connections{kind="normal"}': 1,
      'connections{kind="temporary"}': 1,
      'admissions_total{result="normal"}': 1,
      'admissions_total{result="temporary"}': 1,
      'admissions_total{result="rejected"}': 1,
      'messages_total{target_type="all"}': 1,
      'messages_total{target_type="channel"}': 1,
      deliveries_total: 3,
      dropped_total: 0,
      buffered_bytes: 0,
      lagging_connections: 0,
      users: 1,
      channels: 1,
      places_taken: 2,
      verifications_pending: 0,
      resume_messages: 2,
      'verify_seconds_count{result="verified"}': 2,
      'verify_seconds_count{result="rejected"}': 1,
    };
    for (const [name, value] of Object.entries(expected))
      expect([name, await metric(name)]).toEqual([name, value]);
    expect(await metric("loop_lag_seconds")).toBeGreaterThanOrEqual(0);
    await push.post("/feign/disconnect", { userId: "ann" });
    for (const client of clients) await client.ended();
    await eventually(
      "both closes are counted",
      async () => (await metric('closes_total{code="4004"}')) === 2,
    );
  });

  test("the heap is what the program uses, not what the runtime reserves", async () => {
    push = await startPushApp();
    const [heap, resident] = await Promise.all([
      push.metric("slipway_process_heap_bytes"),
      push.metric("slipway_process_resident_memory_bytes"),
    ]);
    expect(heap).toBeGreaterThan(100_000);
    expect(heap).toBeLessThanOrEqual(resident);
  });

  test("a scrape does not walk the heap, however many objects there are", async () => {
    push = await startPushApp();
    const objects = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
    const costs: number[] = [];
    for (let round = 0; round < 100 && !(Math.min(...costs) < 25); round++) {
      const before = performance.now();
      await push.metric("slipway_process_heap_bytes");
      costs.push(performance.now() - before);
    }
    // Reading them blocks the event loop, and so all connections, for 50 ms and more.
    expect(Math.min(...costs)).toBeLessThan(25);
    expect(objects.length).toBe(1_000_000);
  });

  test("a close without a code, and every code that /feign/disconnect takes, is counted under its own", async () => {
    push = await startPushApp();
    const client = await PushClient.open(`${push.wsUrl}?code=ann`);
    client.close();
    await client.ended();
    for (const code of [1008, 1013]) {
      const kicked = await PushClient.open(`${push.wsUrl}?code=bob`);
      await push.post("/feign/disconnect", { userId: "bob", code });
      expect((await kicked.ended()).code).toBe(code);
    }
    for (const code of [1005, 1008, 1013])
      await eventually(
        `${code} is counted`,
        async () => (await metric(`closes_total{code="${code}"}`)) === 1,
      );
  });

  test("close codes that clients make up do not fill the registry", async () => {
    push = await startPushApp();
    for (const code of [4555, 4556, 3000]) {
      const client = await PushClient.open(`${push.wsUrl}?code=ann`);
      client.socket.close(code);
      await client.ended();
    }
    await eventually(
      "they are counted as one",
      async () => (await metric('closes_total{code="other"}')) === 3,
    );
  });
});

describe("behind a trusted proxy", () => {
  test("connect-rate counts the client address from the proxy, and the verify request contains it", async () => {
    push = await startPushApp({
      "server.trustedProxies": ["127.0.0.0/8"],
      "push.connect-rate": 1,
      "push.verify-method": "POST",
    });
    const attempt = async (address: string) => {
      const socket = new RawSocket(push.port);
      socket.request("GET", "/ws?code=bad", { ...upgradeHeaders, "X-Forwarded-For": `6.6.6.6, ${address}` });
      const { status } = await socket.answer();
      socket.end();
      return status;
    };
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => attempt(`203.0.113.${index}`)),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(push.verify.requests.map(({ body }) => (JSON.parse(body) as { ip: string }).ip).sort()).toContain(
      "203.0.113.7",
    );
    const same = await Promise.all(Array.from({ length: 20 }, () => attempt("203.0.113.200")));
    expect(same).toContain(429);
    const oneNetwork = await Promise.all(
      Array.from({ length: 20 }, (_, index) => attempt(`2001:db8:0:7::${index + 1}`)),
    );
    expect(oneNetwork).toContain(429);
  });
});
