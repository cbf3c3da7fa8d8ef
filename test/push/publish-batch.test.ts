import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

let push: PushApp;
const clients: PushClient[] = [];

beforeAll(async () => {
  push = await startPushApp({ "push.max-message-bytes": 1000 });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => push.stop());

async function open(query: string, protocols: string[] = []): Promise<PushClient> {
  const client = await PushClient.open(`${push.wsUrl}?${query}`, protocols);
  clients.push(client);
  if (protocols.length > 0) await client.receivedType("welcome");
  return client;
}

interface Answer {
  code: number;
  data: { code: number; id?: string; receivers?: number; message?: string }[];
}

async function batch(body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${push.url}/feign/publishBatch`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, ...((await response.json()) as Answer) };
}

const to = (target: string, data: string, more: object = {}) => ({
  targetType: "user",
  target,
  data,
  ...more,
});

describe("several messages", () => {
  test("are delivered in order, and answered one by one; a refused one does not stop the others", async () => {
    const ann = await open("code=ann&channel=news");
    const answer = await batch({
      messages: [
        to("ann", "one"),
        { targetType: "nobody", target: "x", data: "x" },
        { targetType: "channel", target: "news", data: "two" },
        to("ann", "x".repeat(1001)),
        to("slipway:1", "not yours"),
        "no object",
        { targetType: "all", data: "three" },
        to("ann", "no key", { idempotencyKey: 7 }),
        to("away", "nobody there"),
        to("ann", "smuggled", { targets: ["bob", 7] }),
      ],
    });
    expect(answer.status).toBe(200);
    expect(answer.data.map(({ code }) => code)).toEqual([0, 40002, 0, 41301, 40303, 40001, 0, 40005, 0, 0]);
    expect(answer.data.map(({ receivers }) => receivers ?? null)).toEqual([
      1,
      null,
      1,
      null,
      null,
      null,
      1,
      null,
      0,
      1,
    ]);
    expect(await ann.received(4)).toEqual(["one", "two", "three", "smuggled"]);
  });

  test("an idempotencyKey counts for its message: in the batch, in the next one, and for a single publish", async () => {
    const bob = await open("code=bob");
    const message = to("bob", "once", { idempotencyKey: crypto.randomUUID() });
    const first = await batch({ messages: [message, message] });
    const second = await batch({ messages: [message, { ...message, data: "other" }] });
    const ids = [...first.data, ...second.data].map(({ id }) => id);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(second.data[1]?.code).toBe(40901);
    const { idempotencyKey, ...single } = message as ReturnType<typeof to> & { idempotencyKey: string };
    const published = await push.publish(single, { "idempotency-key": idempotencyKey });
    expect(published.headers.get("x-push-id")).toBe(String(ids[0]));
    await push.publish(to("bob", "after"));
    expect(await bob.received(2)).toEqual(["once", "after"]);
  });

  test("the limits: 1,000 messages, no key for the whole batch, either messages or users", async () => {
    const outcome = async (body: unknown, headers = {}) => {
      const { status, code } = await batch(body, headers);
      return [status, code];
    };
    const many = (count: number) => Array.from({ length: count }, () => to("nobody", "x"));
    expect(await outcome({ messages: many(1000) })).toEqual([200, 0]);
    expect(await outcome({ messages: many(1001) })).toEqual([400, 40008]);
    expect(await outcome({ messages: many(1) }, { "idempotency-key": "k" })).toEqual([400, 40005]);
    expect(await outcome({ messages: [], users: [] })).toEqual([400, 40008]);
    expect(await outcome({})).toEqual([400, 40008]);
    expect(await outcome([])).toEqual([400, 40001]);
    expect(await outcome({ messages: [] })).toEqual([200, 0]);
  });
});

describe("one message to several users", () => {
  test("reaches each of them once, raw and slipway.v1, with one id", async () => {
    const [carl, dora, other] = [
      await open("code=carl"),
      await open("code=dora", ["slipway.v1"]),
      await open("code=eve"),
    ];
    const answer = await batch({ users: ["carl", "dora", "carl", "away", "", "slipway:1"], data: "sale" });
    expect(answer.data.map(({ code }) => code)).toEqual([0, 0, 0, 0, 40003, 40303]);
    const id = answer.headers.get("x-push-id") ?? "";
    expect(answer.data[0]).toEqual({ code: 0, id });
    expect(answer.headers.get("x-push-receivers")).toBe("2");
    await push.publish({ targetType: "all", data: "last" });
    expect(await carl.received(2)).toEqual(["sale", "last"]);
    expect(await other.received(1)).toEqual(["last"]);
    const [message] = await dora.receivedType("message", 2);
    expect(message).toMatchObject({ id, targetType: "user", target: "dora", data: "sale" });
  });

  test("a client resumes before and after it", async () => {
    const first = await open("code=fred", ["slipway.v1"]);
    await push.publish(to("fred", "before"));
    await batch({ users: ["other", "fred"], data: "missed" });
    const [before, missed] = await first.receivedType("message", 2);
    const early = await open(`code=fred&resume=${before?.position}`, ["slipway.v1"]);
    expect((await early.receivedType("message"))[0]).toMatchObject({ data: "missed", target: "fred" });
    const late = await open(`code=fred&resume=${missed?.position}`, ["slipway.v1"]);
    await push.publish(to("fred", "after"));
    expect((await late.receivedType("message"))[0]).toMatchObject({ data: "after" });
    expect(late.ofType("welcome")[0]).toMatchObject({ recovered: true });
  });

  test("temp_user reaches temporary connections only; a key is honoured; 10,000 users are the limit", async () => {
    const [normal, temporary] = [await open("code=gina"), await open("code=gina&temp=1")];
    const body = { users: ["gina"], targetType: "temp_user", data: "second factor" };
    const key = { "idempotency-key": crypto.randomUUID() };
    const [one, two] = [await batch(body, key), await batch(body, key)];
    expect(two.data).toEqual(one.data);
    expect((await batch({ ...body, users: ["gina", "hans"] }, key)).status).toBe(409);
    await push.publish({ targetType: "all", data: "last" });
    expect(await temporary.received(2)).toEqual(["second factor", "last"]);
    expect(await normal.received(1)).toEqual(["last"]);
    const users = Array.from({ length: 10_001 }, (_, index) => `u${index}`);
    expect((await batch({ users, data: "x" })).code).toBe(40008);
    expect((await batch({ users: users.slice(1), data: "x" })).data.length).toBe(10_000);
    expect((await batch({ users, targetType: "all", data: "x" })).code).toBe(40008);
    expect((await batch({ users: ["a"], data: 7 })).code).toBe(40004);
    expect((await batch({ users: ["a"], data: "x".repeat(1001) })).status).toBe(413);
  });
});
