import { describe, expect, test } from "bun:test";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway } from "../support/gateway-server.ts";
import { startPushApp } from "../support/push-app.ts";
import { RawStream } from "../support/raw-stream.ts";
import { StreamClient } from "../support/stream-client.ts";

const push = await setUpPush({ "push.ping-interval": 200, "push.resume.age": 60_000 });
const sse = `${push.url}/sse`;

describe("GET /sse", () => {
  test("frames are events, and those with a position have it as id", async () => {
    const client = await StreamClient.open(`${sse}?code=ann&channel=news`);
    expect(client.response?.headers.get("content-type")).toBe("text/event-stream");
    expect(client.response?.headers.get("x-accel-buffering")).toBe("no");
    await client.receivedType("welcome");
    expect(client.retryMs).toBe(3000);
    expect(client.parsed[0]).toMatchObject({
      type: "welcome",
      userId: "ann",
      kind: "normal",
      channels: ["news"],
    });
    await push.publish({ targetType: "channel", target: "news", data: "zwei\r\nZeilen \u2028 ü" });
    const [message] = await client.receivedType("message");
    expect(message?.data).toBe("zwei\r\nZeilen \u2028 ü");
    expect(client.events.find(({ data }) => data.includes("Zeilen"))?.id).toBe(String(message?.position));
    expect(await push.online()).toEqual(["ann"]);
    expect(await push.metric("slipway_push_event_streams")).toBe(1);
    client.close();
    await eventually("it is gone", async () => (await push.online()).length === 0);
    expect(await push.metric("slipway_push_event_streams")).toBe(0);
  });

  test("a heartbeat is a comment, followed by the newest position", async () => {
    const client = await StreamClient.open(`${sse}?code=ann`);
    await client.receivedType("position");
    expect(client.comments).toContain("ping");
    client.close();
  });

  test("an EventSource that connects again with its used code is refused with an event, and a new code resumes", async () => {
    const used = new Set<string>();
    push.verify.answer = (code) => {
      if (used.has(code)) return new Response("used", { status: 401 });
      used.add(code);
      return Response.json({ userId: "ann" });
    };
    const first = await StreamClient.open(`${sse}?code=one`);
    await first.receivedType("welcome");
    const { lastEventId } = first;
    first.close();
    await push.publish({ targetType: "user", target: "ann", data: "missed" });
    const again = new StreamClient(`${sse}?code=one`, { "last-event-id": lastEventId });
    await eventually("it is refused", () => again.isEnded);
    expect(again.refused).toMatchObject({ status: 401, code: 40102, closeCode: 4001, retryAfter: null });
    expect(again.retryMs).toBe(3_600_000);
    const second = await StreamClient.open(`${sse}?code=two`, { "last-event-id": lastEventId });
    await second.receivedType("message");
    expect(second.messages).toEqual(["missed"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    // The welcome of a client that catches up does not move its position.
    expect(second.events[0]?.id).toBeNull();
    second.close();
    push.verify.answer = (code) => Response.json({ userId: code });
  });

  test("a page of an allowed origin may read the stream, another one only why it is refused", async () => {
    const guarded = await startPushApp({ "push.allowed-origins": ["https://app.example.com"] });
    const address = `${guarded.url}/sse?code=ann`;
    const allowed = await StreamClient.open(address, { origin: "https://app.example.com" });
    expect(allowed.response?.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    const refused = new StreamClient(address, { origin: "https://evil.example.com" });
    await eventually("it is refused", () => refused.refused !== null);
    expect(refused.refused).toMatchObject({ status: 403, code: 40301, closeCode: 4002 });
    expect(refused.response?.headers.get("access-control-allow-origin")).toBe("*");
    const post = await fetch(`${guarded.url}/sse?stream=x.y`, {
      method: "POST",
      headers: { origin: "https://evil.example.com" },
      body: "{}",
    });
    expect(post.status).toBe(403);
    allowed.close();
    await guarded.stop();
  });

  test("other methods are refused, and open no stream", async () => {
    for (const method of ["HEAD", "PUT", "DELETE"])
      expect((await fetch(`${sse}?code=ann`, { method })).status).toBe(405);
    expect(await push.metric("slipway_push_event_streams")).toBe(0);
  });

  test("a client that never reads again loses its connection after the close", async () => {
    const slow = await startGateway();
    const client = new RawStream(slow.port);
    await client.upgrade("/sse?code=ann");
    client.pause();
    const publish = () =>
      slow.gateway.publisher.publish({ targetType: "user", target: "ann", data: "x".repeat(500_000) });
    while (slow.gateway.connections.size > 0) await publish();
    expect(await slow.metric('slipway_push_closes_total{code="4102"}')).toBe(1);
    const before = slow.openRequests();
    await eventually("the server gives up", () => slow.openRequests() < before, 60_000);
    client.end();
    await slow.stop();
  }, 90_000);
});

describe("POST /sse", () => {
  async function open(query = ""): Promise<StreamClient> {
    const client = await StreamClient.open(`${sse}?code=ann${query}`);
    await client.receivedType("welcome");
    return client;
  }

  test("takes the frames of slipway.v1, and the answers are on the stream", async () => {
    const client = await open();
    const answer = await client.post('{"type":"join","channel":"room"}');
    expect([answer.status, await answer.json()]).toMatchObject([200, { code: 0, data: "accepted" }]);
    expect(await client.receivedType("joined")).toEqual([{ type: "joined", channel: "room" }]);
    await push.publish({ targetType: "channel", target: "room", data: "in" });
    await client.receivedType("message");
    await client.post('{"type":"leave","channel":"room"}');
    await client.receivedType("left");
    await client.post("nonsense");
    expect(await client.receivedType("error")).toMatchObject([{ code: "frame_invalid" }]);
    client.close();
  });

  test("a name that is wrong, or of a stream that has ended, is unknown", async () => {
    const client = await open();
    const name = String(client.parsed[0]?.stream);
    const post = (stream: string) => fetch(`${sse}?stream=${stream}`, { method: "POST", body: "ping" });
    expect((await post(name)).status).toBe(200);
    for (const wrong of ["", "x", `${name}x`, name.replace(/\..*/, ".guess"), `other${name}`])
      expect((await post(wrong)).status).toBe(404);
    client.close();
    await eventually("it is gone", async () => (await post(name)).status === 404);
  });

  test("the stream is looked up before the frame is read: its size does not matter if there is none", async () => {
    const client = await open();
    const name = String(client.parsed[0]?.stream);
    for (const wrong of ["", `${name}x`, `other${name}`]) {
      const answer = await fetch(`${sse}?stream=${wrong}`, { method: "POST", body: "x".repeat(100_000) });
      expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([404, 40402]);
    }
    client.close();
  });

  test("too large a frame is refused, and does not end the stream", async () => {
    const client = await open();
    expect((await client.post("x".repeat(64 * 1024 + 1))).status).toBe(413);
    expect((await client.post("ping")).status).toBe(200);
    await eventually("it is echoed", () => client.frames.includes("ping"));
    client.close();
  });

  test("a stream whose messages wait for the queue is busy, and one that sends too many is closed", async () => {
    const running = await startGateway({ "push.client-message-rate": 10 });
    const client = await StreamClient.open(`${running.url}/sse?code=ann`);
    await client.receivedType("welcome");
    const [socket] = running.gateway.connections.ofUser("ann");
    socket?.pause();
    const answer = await client.post("ping");
    expect([answer.status, answer.headers.has("retry-after")]).toEqual([429, true]);
    socket?.resume();
    expect((await client.post("ping")).status).toBe(200);
    await eventually("it is closed", async () => {
      await Promise.all(Array.from({ length: 40 }, () => client.post("ping")));
      return client.closed !== null;
    });
    expect(client.closed).toEqual({ code: 4301, reason: "too many client messages" });
    await running.stop();
  });
});
