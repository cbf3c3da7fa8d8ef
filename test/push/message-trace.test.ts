import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { Gateway } from "../../src/push/gateway.ts";
import { traceReport } from "../../src/push/trace-report.ts";
import { setUpApi, setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway } from "../support/gateway-server.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { StreamClient } from "../support/stream-client.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { rawClient, transports } from "../support/transports.ts";

const apiKey = "the key of the shop";
const deployKey = "the key of the deploy service";
const push = await setUpPush({
  "push.api-keys": [apiKey],
  "push.deploy-key": deployKey,
  "push.client-message-rate": 5,
  "push.trace-messages": 20,
});

interface Traced {
  id: string;
  ack: boolean;
  cause: { code: string; values: Record<string, string> };
  why: string;
  data?: string | null;
  instances: { written: number; acknowledged: number; connections: { state: string }[] }[];
}

const call = async (path: string, key = apiKey) => {
  const answer = await fetch(push.url + path, { headers: { "x-api-key": key } });
  return { status: answer.status, ...((await answer.json()) as { code: number; data: unknown }) };
};
const publish = (body: object, path = "publish") =>
  fetch(`${push.url}/feign/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey },
    body: JSON.stringify({ targetType: "user", target: "42", data: "hello", ...body }),
  });
const idOf = async (answer: Promise<Response>) => (await answer).headers.get("x-push-id") ?? "";
const traceOf = async (id: string) => (await call(`/feign/messages/${id}`)).data as Traced;
const open = (code: string, protocols = ["slipway.v1"]) =>
  PushClient.open(`${push.wsUrl}?code=${code}`, protocols);

describe("acknowledgements", () => {
  test("ack is for users, and must be true or false", async () => {
    for (const body of [
      { targetType: "all", target: "", ack: true },
      { targetType: "channel", target: "news", ack: true },
      { ack: "yes" },
      { ack: 1 },
    ]) {
      const answer = await publish(body);
      expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([400, 40009]);
    }
    for (const ack of [false, null]) expect((await publish({ ack })).status).toBe(200);
    const users = await publish({ users: ["1"], target: undefined, ack: "yes" }, "publishBatch");
    expect(users.status).toBe(400);
  });

  test("those that were asked for do not count against the rate, and each connection has its own", async () => {
    const [eager, silent] = [await open("43"), await open("43")];
    const ids = await Promise.all(
      Array.from({ length: 10 }, () => idOf(publish({ target: "43", ack: true }))),
    );
    await Promise.all([eager, silent].map((client) => client.receivedType("message", ids.length)));
    for (const id of ids) eager.send(JSON.stringify({ type: "ack", id }));
    for (const id of ids)
      await eventually("it is acknowledged", async () => {
        const { cause, instances } = await traceOf(id);
        expect(instances[0]?.written).toBe(2);
        return (
          cause.code === "trace_acknowledged" && cause.values.count === "1" && cause.values.total === "2"
        );
      });
    expect(eager.closed).toBeNull();
    // Others count as any frame does; more than twice the limit, because a new second may begin meanwhile.
    for (const id of [...ids, ...ids]) eager.send(JSON.stringify({ type: "ack", id }));
    expect((await eager.ended()).code).toBe(4301);
    silent.close();
  });

  test("an event stream acknowledges by POST /sse", async () => {
    const stream = await StreamClient.open(`${push.url}/sse?code=48`);
    await stream.receivedType("welcome");
    const id = await idOf(publish({ target: "48", ack: true }));
    expect((await stream.receivedType("message"))[0]).toMatchObject({ id, ack: true });
    expect((await stream.post(JSON.stringify({ type: "ack", id }))).ok).toBe(true);
    expect((await traceOf(id)).cause.code).toBe("trace_acknowledged");
    stream.close();
  });

  test("each of several users is asked, and each user's trace is its own", async () => {
    const clients = [await open("51"), await open("52")];
    const users = { targetType: undefined, target: undefined, users: ["51", "52", "53"], ack: true };
    const id = await idOf(publish(users, "publishBatch"));
    for (const client of clients)
      expect((await client.receivedType("message"))[0]).toMatchObject({ ack: true });
    clients[0]?.send(JSON.stringify({ type: "ack", id }));
    const causeFor = async (user: string) => {
      const { messages } = (await call(`/feign/messages?user=${user}`)).data as { messages: Traced[] };
      return messages[0]?.cause.code;
    };
    await eventually("51 has acknowledged", async () => (await causeFor("51")) === "trace_acknowledged");
    expect(await causeFor("52")).toBe("trace_unacknowledged");
    expect(await causeFor("53")).toBe("trace_no_connection");
    for (const client of clients) client.close();
  });
});

describe("the trace", () => {
  test("contents are for the deploy service only", async () => {
    const id = await idOf(publish({ target: "44", data: "the secret" }));
    const paths = [`/feign/messages/${id}`, "/feign/messages?user=44"];
    for (const path of paths) {
      expect(JSON.stringify(await call(path))).not.toContain("the secret");
      expect(JSON.stringify(await call(path, deployKey))).toContain("the secret");
    }
    const long = await idOf(publish({ target: "44", data: "x".repeat(5_000) }));
    expect((await call(`/feign/messages/${long}`, deployKey)).data).toMatchObject({ id: long, data: null });
  });

  test("the messages of the console are hidden from other services", async () => {
    const body = JSON.stringify({ targetType: "user", target: "slipway:1", data: "news" });
    const headers = { "content-type": "application/json", "x-api-key": deployKey };
    const id = await idOf(fetch(`${push.url}/feign/publish`, { method: "POST", headers, body }));
    expect((await call(`/feign/messages/${id}`)).status).toBe(404);
    expect((await call("/feign/messages?user=slipway:1")).status).toBe(403);
    expect((await call(`/feign/messages/${id}`, deployKey)).status).toBe(200);
  });

  test("only the last messages are known; refused publishes do not displace them", async () => {
    const first = await idOf(publish({ target: "45" }));
    for (let count = 0; count < 20; count++) await publish({ target: "46", data: 7 });
    expect((await call(`/feign/messages/${first}`)).status).toBe(200);
    const { messages } = (await call("/feign/messages?user=46")).data as { messages: Traced[] };
    expect(messages.map(({ cause }) => cause.code)).toEqual(["trace_refused", "trace_refused"]);
    for (let count = 0; count < 20; count++) await publish({ target: "46" });
    expect(await call(`/feign/messages/${first}`)).toMatchObject({ status: 404, code: 40403 });
  });

  test("of a message from before the last start nobody knows what became of it", async () => {
    const dataDir = temporaryFolder("trace");
    const before = await startPushApp({ "data.dir": dataDir });
    const client = await PushClient.open(`${before.wsUrl}?code=42&channel=news`, ["slipway.v1"]);
    const ids: string[] = [];
    for (const to of [
      { targetType: "user", target: "42" },
      { targetType: "channel", target: "news" },
      { targetType: "all" },
    ])
      ids.push(await idOf(before.publish({ ...to, data: "it arrives" })));
    await client.receivedType("message", 3);
    await before.stop();
    const after = await startPushApp({ "data.dir": dataDir });
    const causes = [];
    for (const id of ids) {
      const { data } = (await (await after.get(`/feign/messages/${id}`)).json()) as { data: Traced };
      causes.push([data.cause.code, data.instances[0]?.written]);
    }
    await after.stop();
    expect(causes).toEqual(ids.map(() => ["trace_before_start", 0]));
  });

  test("a request without a user is refused", async () => {
    for (const query of ["", "?user=", `?user=${"x".repeat(256)}`])
      expect(await call(`/feign/messages${query}`)).toMatchObject({ status: 400, code: 40003 });
  });

  test("without push.trace-messages there is none, and acknowledgements are ignored", async () => {
    const off = await setUpPush({ "push.trace-messages": 0 });
    const client = await PushClient.open(`${off.wsUrl}?code=42`, ["slipway.v1"]);
    const published = await off.publish({ targetType: "user", target: "42", data: "hello", ack: true });
    const id = published.headers.get("x-push-id");
    await client.receivedType("message");
    client.send(JSON.stringify({ type: "ack", id }));
    for (const path of [`/feign/messages/${id}`, "/feign/messages?user=42"])
      expect((await off.get(path)).status).toBe(404);
    client.close();
  });
});

describe("a client that stops reading", () => {
  const causesOf = async (gateway: Gateway, ids: string[]) => {
    const codes = new Set<string>();
    for (const messageId of ids)
      for (const { cause } of traceReport(await gateway.control.askMessages({ messageId })).messages)
        codes.add(cause.code);
    return [...codes];
  };

  test.each(transports)(
    "%s: no message that it had not read is shown as written after its close 4102",
    async (transport) => {
      const slow = await startGateway({ "push.slow-consumer-timeout": 500 });
      const client = rawClient(transport, slow.port);
      await client.upgrade("/ws?code=ann");
      client.pause();
      const ids: string[] = [];
      while (slow.gateway.connections.size > 0) {
        const message = { targetType: "user", target: "ann", data: "x".repeat(200_000) } as const;
        ids.push((await slow.gateway.publisher.publish(message)).id);
        // The first ones fit into the buffers of the system, and nothing is unsent for a while.
        await Bun.sleep(ids.length < 5 ? 300 : 20);
      }
      const causes = await causesOf(slow.gateway, ids);
      expect(causes).toContain("trace_slow_consumer");
      expect(causes).not.toContain("trace_written");
      client.end();
      await slow.stop();
    },
    60_000,
  );

  test("what it read long before stays written", async () => {
    const clock = manualClock();
    const slow = await startGateway({}, clock);
    const client = await PushClient.open(`${slow.wsUrl}?code=ann`);
    const message = { targetType: "user", target: "ann", data: "hello" } as const;
    const { id } = await slow.gateway.publisher.publish(message);
    await client.received(1);
    for (let count = 0; count < 4; count++) {
      clock.advance(20_000);
      for (const { data } of slow.gateway.connections.ofUser("ann")) data.lastSeenAtMs = clock.now();
    }
    for (const socket of [...slow.gateway.connections.ofUser("ann")])
      slow.gateway.sendBuffers.closeSlowConsumer(socket);
    await client.ended();
    expect(await causesOf(slow.gateway, [id])).toEqual(["trace_written"]);
    await slow.stop();
  });
});

test("since is not later than the first message that is known", async () => {
  const clock = manualClock();
  const late = await startGateway({}, clock);
  const { publisher, trace, control } = late.gateway;
  const sent = new Date(clock.now()).toISOString();
  const { id } = await publisher.publish({ targetType: "user", target: "ann", data: "hello" });
  clock.advance(5_000);
  const entry = trace.published.oldest;
  expect(entry?.id).toBe(id);
  // Read from a message queue five seconds after it was published.
  if (entry) entry.atMs = clock.now();
  const { since, messages } = traceReport(await control.askMessages({ userId: "ann" }));
  expect([since, messages[0]?.publishedAt]).toEqual([sent, sent]);
  await late.stop();
});

describe("GET /api/push/messages", () => {
  test("shows admins why, with the content, in words and as data", async () => {
    const server = await setUpApi({}, undefined, "start");
    const message = { targetType: "user", target: "absent", data: "the content", ack: true };
    const { id } = await server.admin.expect<{ id: string }>(200, "POST", "/api/push/publish", message);
    const report = await server.admin.expect<object>(200, "GET", "/api/push/messages?user=absent");
    expect(report).toMatchObject({
      messages: [
        {
          id,
          ack: true,
          data: "the content",
          cause: "absent had no connection on any instance.",
          causeParts: [{ code: "trace_no_connection", values: { user: "absent" } }],
          instances: [{ state: "distributed", written: 0, connections: [] }],
        },
      ],
      user: { connections: [], lastClosed: null },
      missing: [],
    });
    const { client } = await server.newUser("ann");
    await client.expect(403, "GET", "/api/push/messages?user=absent");
    await server.admin.expect(422, "GET", "/api/push/messages");
    const toAll = { targetType: "all", data: "x", ack: true };
    await server.admin.expect(422, "POST", "/api/push/publish", toAll);
  });

  test("asks a push role in another process, which shows contents to its deploy key", async () => {
    const server = await setUpApi({ "deploy.push.url": push.url, "deploy.push.apiKey": deployKey });
    const id = await idOf(publish({ target: "47", data: "from afar" }));
    const report = await server.admin.expect<object>(200, "GET", "/api/push/messages?user=47");
    expect(report).toMatchObject({ messages: [{ id, data: "from afar" }] });
    const off = await setUpPush({ "push.trace-messages": 0 });
    const other = await setUpApi({ "deploy.push.url": off.url });
    await other.admin.expect(409, "GET", "/api/push/messages?user=47");
  });
});
