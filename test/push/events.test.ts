import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { webhookHeaders } from "../../src/standard-webhooks.ts";
import { startApiServer } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { StreamClient } from "../support/stream-client.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const secret = "whsec_dGhlIGtleSBvZiB0aGUgcmVjZWl2ZXI=";

interface Batch {
  headers: Headers;
  body: string;
  events: Record<string, unknown>[];
}

/** A receiver in this process, whose answers a test chooses. */
function startReceiver(answer: (batch: Batch) => number | Promise<number>) {
  const batches: Batch[] = [];
  const accepted: Record<string, unknown>[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      const { data } = JSON.parse(body) as { data: { events: Record<string, unknown>[] } };
      const batch = { headers: request.headers, body, events: data.events };
      batches.push(batch);
      const status = await answer(batch);
      if (status < 300) accepted.push(...batch.events);
      return new Response(null, { status, headers: status === 302 ? { location: "/elsewhere" } : {} });
    },
  });
  return {
    url: server.url.href,
    batches,
    accepted,
    ofType: (type: string) => accepted.filter((event) => event.type === type),
    stop: () => server.stop(true),
  };
}

let push: PushApp;
let receiver: ReturnType<typeof startReceiver>;

afterEach(async () => {
  await push.stop();
  await receiver.stop();
});

async function startWith(answer: (batch: Batch) => number | Promise<number> = () => 200): Promise<void> {
  receiver = startReceiver(answer);
  push = await startPushApp({
    "push.events-uri": receiver.url,
    "push.events-secret": secret,
    "push.accept-client-message": true,
    "push.client-message-rate": 0,
  });
}

const open = (query: string, protocols?: string[]) => PushClient.open(`${push.wsUrl}?${query}`, protocols);
const metric = (name: string) => push.metric(`slipway_push_events_${name}`);

describe("events for push.events-uri", () => {
  test("the receiver of docs/push.md accepts them, and nothing without a valid signature", async () => {
    await startWith();
    const page = await Bun.file(join(import.meta.dir, "../../docs/push.md")).text();
    const program = join(temporaryFolder("receiver"), "receiver.mjs");
    await Bun.write(program, /```js receiver\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
    const port = freePort();
    const env = { ...process.env, EVENTS_SECRET: secret, PORT: String(port) };
    const child = Bun.spawn([process.execPath, program], { env, stdout: "pipe", stderr: "inherit" });
    const url = `http://127.0.0.1:${port}/`;
    await eventually("it listens", async () => (await fetch(url).catch(() => null)) !== null);
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
    const other = await startPushApp({ "push.events-uri": url, "push.events-secret": secret });
    const client = await PushClient.open(`${other.wsUrl}?code=ann&channel=news`);
    await eventually(
      "both events are accepted",
      async () => (await other.metric('slipway_push_events_accepted_total{kind="presence"}')) === 2,
    );
    client.close();
    child.kill();
    expect(await new Response(child.stdout).text()).toBe("online ann\noccupied news\n");
    await other.stop();
  });

  test("a user comes, joins, sends and goes: one event each, in signed requests", async () => {
    await startWith();
    const client = await open("code=ann&channel=news&channel=presence-room");
    const temporary = await open("code=bob&temp=1&channel=news");
    client.send("hello");
    await eventually("the arrival is reported", () => receiver.accepted.length === 5);
    client.close();
    await eventually("the end is reported", () => receiver.ofType("offline").length === 1);
    await eventually("all are reported", () => receiver.accepted.length === 8);
    const brief = receiver.accepted.map(({ v, id, ts, node, connectionId, ...rest }) => {
      expect([v, typeof id, typeof ts, typeof node]).toEqual([1, "string", "number", "string"]);
      return rest;
    });
    const [ann, news, room] = [{ userId: "ann" }, { channel: "news" }, { channel: "presence-room" }];
    const expected = [
      { type: "online", ...ann },
      { type: "occupied", ...news },
      { type: "occupied", ...room },
      { type: "joined", ...room, ...ann },
      { type: "message", ...ann, kind: "normal", data: "hello" },
      { type: "offline", ...ann },
      { type: "vacated", ...room },
      { type: "left", ...room, ...ann },
    ];
    for (const event of expected) expect(brief).toContainEqual(event);
    for (const { headers, body } of receiver.batches) {
      const timestamp = Number(headers.get("webhook-timestamp"));
      const signed = webhookHeaders(headers.get("webhook-id") ?? "", timestamp, body, secret);
      expect(headers.get("webhook-signature")).toBe(signed["webhook-signature"] ?? "");
      expect(JSON.parse(body).type).toBe("push.events");
    }
    expect(await metric('accepted_total{kind="presence"}')).toBe(7);
    expect(await metric('accepted_total{kind="message"}')).toBe(1);
    temporary.close();
  });

  test("the user of an event stream is reported as that of a WebSocket", async () => {
    await startWith();
    const client = await StreamClient.open(`${push.url}/sse?code=ann&channel=news`);
    await client.receivedType("welcome");
    expect((await client.post(JSON.stringify({ type: "message", data: "hello" }))).status).toBe(200);
    await eventually("all are reported", () => receiver.accepted.length === 3);
    expect(receiver.accepted.map(({ type }) => type).sort()).toEqual(["message", "occupied", "online"]);
    client.close();
    await eventually("the end is reported", () => receiver.ofType("vacated").length === 1);
    expect(receiver.ofType("offline")).toMatchObject([{ userId: "ann" }]);
  });

  test("anything but 2xx is sent again, with the same ids, and later messages wait", async () => {
    const answers = [500, 302, 400, 429];
    await startWith(({ events }) => (events[0]?.type === "message" ? (answers.shift() ?? 204) : 200));
    const client = await open("code=ann");
    const texts = Array.from({ length: 1_200 }, (_, index) => `m${index}`);
    client.send(texts[0] ?? "");
    await eventually("the first attempt failed", () => answers.length === 3);
    for (const text of texts.slice(1)) client.send(text);
    await eventually("all arrive", () => receiver.ofType("message").length === texts.length);
    expect(receiver.ofType("message").map(({ data }) => data)).toEqual(texts);
    const first = receiver.batches.filter(({ events }) => events[0]?.data === "m0");
    expect(first.length).toBe(5);
    expect(new Set(first.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    expect(new Set(first.map(({ body }) => body)).size).toBe(1);
    expect(await metric('failed_requests_total{kind="message"}')).toBe(4);
    expect(await metric('waiting{kind="message"}')).toBe(0);
    client.close();
  });

  test("while the receiver refuses, 10,000 messages wait; the next one is refused and counted", async () => {
    let isAway = true;
    await startWith(() => (isAway ? 503 : 200));
    const client = await open("code=ann", ["slipway.v1"]);
    for (let index = 0; index <= 10_000; index++)
      client.send(JSON.stringify({ type: "message", data: `m${index}` }));
    const [error] = await client.receivedType("error");
    expect(error?.code).toBe("queue_unavailable");
    expect(await metric('waiting{kind="message"}')).toBe(10_000);
    expect(await metric('dropped_total{kind="message"}')).toBe(1);
    await eventually(
      "ann waits to be reported",
      async () => (await metric('waiting{kind="presence"}')) === 1,
    );
    isAway = false;
    await eventually("those that waited arrive", () => receiver.ofType("message").length === 10_000);
    expect(receiver.ofType("message").at(-1)?.data).toBe("m9999");
    await eventually("ann is reported", () => receiver.ofType("online").length === 1);
    client.close();
  });

  test("the time of a request is that of the system, also after its clock was set", async () => {
    await startWith();
    const hourMs = 3_600_000;
    setSystemTime(Date.now() + hourMs);
    try {
      const client = await open("code=ann");
      await eventually("ann is reported", () => receiver.ofType("online").length === 1);
      const timestamp = Number(receiver.batches[0]?.headers.get("webhook-timestamp"));
      expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(60);
      client.close();
    } finally {
      setSystemTime();
    }
  });

  test("the console's own connections are not reported", async () => {
    await startWith();
    const server = await startApiServer(
      {
        "push.events-uri": receiver.url,
        "push.verify-uri": push.verify.url,
        "push.accept-client-message": true,
        "push.drain-delay": 0,
        "push.drain-period": 0,
      },
      undefined,
      "start",
    );
    const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
      for: "console",
    });
    const wsUrl = `${server.url.replace("http", "ws")}/ws`;
    const watching = await PushClient.open(`${wsUrl}?temp=1&code=${code}&channel=private-project-1`, [
      "slipway.v1",
    ]);
    expect((await watching.receivedType("welcome"))[0]).toMatchObject({
      kind: "temporary",
      channels: ["private-project-1"],
    });
    watching.send(JSON.stringify({ type: "message", data: "of the console" }));
    const client = await PushClient.open(`${wsUrl}?code=ann&channel=news`);
    client.send("of ann");
    await eventually("ann is reported", () => receiver.accepted.length >= 3);
    expect(receiver.accepted.map(({ type }) => type).sort()).toEqual(["message", "occupied", "online"]);
    for (const each of [watching, client]) each.close();
    await server.stop();
  });

  test("an instance that stops sends what waits, and reports its users offline", async () => {
    await startWith();
    const client = await open("code=ann");
    await eventually("ann is online", () => receiver.ofType("online").length === 1);
    client.send("the last words");
    await eventually(
      "it was received",
      async () => (await push.metric('slipway_push_client_messages_total{result="accepted"}')) === 1,
    );
    await push.app.stop();
    expect(receiver.accepted.map(({ type }) => type).sort()).toEqual(["message", "offline", "online"]);
  });
});
