import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers, v1, type WorkerInstance, workerOf } from "../support/worker-instance.ts";

const verify = startVerifyService();
let push: WorkerInstance;
const clients: PushClient[] = [];

beforeAll(async () => {
  push = await startWorkers(3, { "push-verify-uri": verify.url, "push-accept-client-message": "true" });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await eventually("all connections are closed", async () => (await report()).total === 0);
});

afterAll(async () => {
  await push.stop();
  await verify.stop();
});

interface Report {
  node: string;
  total: number;
  users: number;
  published: number;
  channelCount: number;
  channels: { name: string; members: number }[];
  connections?: { connectionId: string; userId: string }[];
}

async function dataOf<T>(path: string): Promise<T> {
  return ((await (await push.call(path)).json()) as { data: T }).data;
}

const report = (query = "") => dataOf<Report>(`/feign/connections${query}`);

/** One connection on each worker. */
async function onEach(query: string): Promise<PushClient[]> {
  const opened = await push.openOnEach(query);
  clients.push(...opened);
  return opened;
}

async function post(path: string, body: object) {
  const answer = await push.call(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, connections: Number(answer.headers.get("x-push-connections")) };
}

/** Several times, so that each worker is very likely asked. */
async function everyTime(check: () => Promise<void>, times = 10): Promise<void> {
  for (let time = 0; time < times; time++) await check();
}

async function metric(line: string): Promise<number> {
  const text = await (await push.call("/metrics")).text();
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return Number(found?.split(" ").at(-1));
}

describe("three workers are one instance", () => {
  test("a message to each target type reaches connections of all workers, and is answered with their number", async () => {
    const anna = await onEach("code=anna&channel=news");
    const temporary = await onEach("code=bert&temp=1");
    const cases = [
      { targetType: "all", target: "", receivers: 6, readers: [...anna, ...temporary] },
      { targetType: "user", target: "anna", receivers: 3, readers: anna },
      { targetType: "temp_user", target: "bert", receivers: 3, readers: temporary },
      { targetType: "channel", target: "news", receivers: 3, readers: anna },
      { targetType: "user", target: "nobody", receivers: 0, readers: [] },
    ];
    for (const { targetType, target, receivers, readers } of cases) {
      const data = `to ${targetType} ${target}`;
      const answer = await push.publish({ targetType, target, data });
      expect([targetType, target, answer.headers.get("x-push-receivers")]).toEqual([
        targetType,
        target,
        String(receivers),
      ]);
      expect(((await answer.json()) as { data: string }).data).toBe("publish success");
      for (const reader of readers) await eventually(`${data} arrives`, () => reader.messages.includes(data));
    }
    expect(anna.map(({ messages }) => messages.length)).toEqual([3, 3, 3]);
    expect(temporary.map(({ messages }) => messages.length)).toEqual([2, 2, 2]);
  });

  test("getOnlineUsers, with either scope, and the report of connections cover all of them at once", async () => {
    await onEach("code=anna&channel=news");
    await onEach("code=bert&channel=news&channel=sport");
    await onEach("code=carl&temp=1");
    const { node } = await report();
    await everyTime(async () => {
      expect((await dataOf<string[]>("/feign/getOnlineUsers")).sort()).toEqual(["anna", "bert"]);
      expect((await dataOf<string[]>("/feign/getOnlineUsers?scope=cluster")).sort()).toEqual([
        "anna",
        "bert",
      ]);
      expect(await report("?userId=anna")).toMatchObject({
        ...{ node, total: 9, normal: 6, temporary: 3, users: 3, channelCount: 2 },
        channels: [
          { name: "news", members: 6 },
          { name: "sport", members: 3 },
        ],
        connections: [{ userId: "anna" }, { userId: "anna" }, { userId: "anna" }],
      });
    });
  });

  test("a new connection is online at every worker at once", async () => {
    for (let index = 0; index < 20; index++) {
      clients.push(await push.open(`code=user-${index}`));
      expect(await dataOf<string[]>("/feign/getOnlineUsers")).toHaveLength(index + 1);
    }
  });

  test("disconnect by user and by connection acts on all workers and returns the number of connections", async () => {
    const anna = await onEach("code=anna");
    const bert = await onEach("code=bert");
    expect(await post("/feign/disconnect", { userId: "anna" })).toEqual({ status: 200, connections: 3 });
    for (const client of anna) expect((await client.ended()).code).toBe(4004);
    for (const client of bert) {
      const connectionId = client.ofType("welcome")[0]?.connectionId;
      expect(await post("/feign/disconnect", { connectionId })).toEqual({ status: 200, connections: 1 });
      await client.ended();
    }
    expect(await post("/feign/disconnect", { userId: "anna" })).toEqual({ status: 200, connections: 0 });
  });

  test("scope=cluster asks every worker", async () => {
    const anna = await onEach("code=anna");
    const report = await dataOf<{ connections: { instance: string }[]; instances: { total: number }[] }>(
      "/feign/connections?scope=cluster&userId=anna",
    );
    expect(report.connections).toHaveLength(3);
    expect(report.instances).toMatchObject([{ total: 3 }]);
    expect(await post("/feign/disconnect?scope=cluster", { userId: "anna" })).toEqual({
      status: 200,
      connections: 3,
    });
    for (const client of anna) expect((await client.ended()).code).toBe(4004);
  });

  test("channels: join, leave and grant act on all workers, before they are answered", async () => {
    const anna = await onEach("code=anna");
    const to = async (target: string) =>
      (await push.publish({ targetType: "channel", target, data: "x" })).headers.get("x-push-receivers");
    expect(await post("/feign/channels/join", { userId: "anna", channel: "news" })).toMatchObject({
      connections: 3,
    });
    expect(await to("news")).toBe("3");
    expect(await post("/feign/channels/leave", { userId: "anna", channel: "news" })).toMatchObject({
      connections: 3,
    });
    expect(await to("news")).toBe("0");
    await post("/feign/channels/join", { userId: "anna", channel: "sport" });
    expect(await post("/feign/channels/grant", { userId: "anna", channels: ["a"] })).toMatchObject({
      connections: 3,
    });
    expect(await to("sport")).toBe("0");
    for (const client of anna) expect((await client.receivedType("left", 2)).length).toBe(2);
  });

  test("an Idempotency-Key is honoured by all workers, also by requests that arrive together", async () => {
    const anna = await onEach("code=anna");
    const body = { targetType: "user", target: "anna", data: "once" };
    const key = { "idempotency-key": "the key" };
    const together = await Promise.all(Array.from({ length: 20 }, () => push.publish(body, key)));
    const later = await Promise.all(Array.from({ length: 20 }, () => push.publish(body, key)));
    const all = [...together, ...later];
    const answers = all.map(({ status, headers }) => `${status} ${headers.get("x-push-id")}`);
    expect(new Set(answers)).toEqual(new Set([`200 ${all[0]?.headers.get("x-push-id")}`]));
    const receivers = all.map(({ headers }) => headers.get("x-push-receivers"));
    expect(receivers.filter((count) => count !== null)).toEqual(["3"]);
    for (const client of anna) await eventually("it arrives", () => client.messages.length > 0);
    await everyTime(async () =>
      expect((await push.publish({ ...body, data: "other" }, key)).status).toBe(409),
    );
    await push.publish({ ...body, data: "end" });
    for (const client of anna) {
      await eventually("the end arrives", () => client.messages.includes("end"));
      expect(client.messages).toEqual(["once", "end"]);
    }
  });

  test("a client resumes on every worker, from a message or from an empty position, without loss or repeat", async () => {
    await push.publish({ targetType: "all", data: "earlier" });
    const [first] = await onEach("code=anna");
    const empty = String(first?.ofType("welcome")[0]?.lastId);
    for (const data of ["1", "2", "3"]) await push.publish({ targetType: "user", target: "anna", data });
    await eventually("three arrive", () => first?.messages.length === 3);
    const second = String(first?.ofType("message")[1]?.id);
    for (const [resume, missed] of [
      [empty, ["1", "2", "3"]],
      [second, ["3"]],
    ] as const)
      for (const client of await onEach(`code=anna&resume=${encodeURIComponent(resume)}`)) {
        expect(client.ofType("welcome")[0]).toMatchObject({ recovered: true });
        await eventually("the missed ones arrive", () => client.messages.length === missed.length);
        expect(client.messages).toEqual([...missed]);
      }
  });

  test("a stream of client messages gets those of all workers", async () => {
    const stop = new AbortController();
    const stream = await push.call("/feign/client-messages", { signal: stop.signal });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    const anna = await onEach("code=anna");
    for (const [index, client] of anna.entries())
      client.send(JSON.stringify({ type: "message", data: `from ${index}` }));
    const received = new Set<string>();
    let text = "";
    while (received.size < 3) {
      text += Buffer.from((await reader.read()).value ?? []).toString();
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines.filter(Boolean)) received.add((JSON.parse(line) as { data: string }).data);
    }
    expect([...received].sort()).toEqual(["from 0", "from 1", "from 2"]);
    stop.abort();
  });

  test("/metrics sums: connections, users, deliveries; each message counts once; a replaced worker lowers no counter", async () => {
    const messagesBefore = await metric('slipway_push_messages_total{target_type="user"}');
    const deliveriesBefore = await metric("slipway_push_deliveries_total");
    const anna = await onEach("code=anna&channel=news");
    await onEach("code=bert&channel=news");
    for (let count = 0; count < 5; count++)
      await push.publish({ targetType: "user", target: "anna", data: "x" });
    await everyTime(async () => {
      expect(await metric('slipway_push_connections{kind="normal"}')).toBe(6);
      expect(await metric("slipway_push_users")).toBe(2);
      expect(await metric("slipway_push_channels")).toBe(1);
      expect(await metric("slipway_push_places_taken")).toBe(6);
      expect(await metric("slipway_push_cluster_instances")).toBe(1);
      expect(await metric("slipway_push_cluster_users")).toBe(2);
      expect(await metric('slipway_push_messages_total{target_type="user"}')).toBe(messagesBefore + 5);
      expect(await metric("slipway_push_deliveries_total")).toBe(deliveriesBefore + 15);
    }, 4);
    const admissions = await metric('slipway_push_admissions_total{result="normal"}');
    process.kill(push.workerPids()[0] ?? 0, "SIGKILL");
    await eventually("the connections of one worker end", () => anna.some(({ closed }) => closed !== null));
    await eventually("the worker is replaced", push.isReady);
    expect(await metric('slipway_push_messages_total{target_type="user"}')).toBe(messagesBefore + 5);
    expect(await metric('slipway_push_admissions_total{result="normal"}')).toBe(admissions);
    expect(await metric('slipway_push_connections{kind="normal"}')).toBe(4);
    expect(await metric("slipway_push_users")).toBe(2);
  });

  test("a worker that replaces another has the kept messages: clients resume on it, also from before", async () => {
    const [client] = await onEach("code=anna");
    for (const data of ["1", "2", "3"]) await push.publish({ targetType: "user", target: "anna", data });
    await eventually("three arrive", () => client?.messages.length === 3);
    const first = String(client?.ofType("message")[0]?.id);
    const before = new Set(await Promise.all(clients.map(workerOf)));
    process.kill(push.workerPids()[0] ?? 0, "SIGKILL");
    await eventually("one ends", () => clients.some(({ closed }) => closed !== null));
    await eventually("the worker is replaced", push.isReady);
    const resumed = await onEach(`code=anna&resume=${first}`);
    const names = await Promise.all(resumed.map(workerOf));
    expect(names.filter((name) => !before.has(name))).toHaveLength(1);
    for (const each of resumed) {
      expect(each.ofType("welcome")[0]).toMatchObject({ recovered: true });
      await eventually("two arrive", () => each.messages.length === 2);
      expect(each.messages).toEqual(["2", "3"]);
    }
  });
});

describe("limits count over all workers", () => {
  async function attempt(instance: WorkerInstance, code: string): Promise<boolean> {
    const client = new PushClient(`${instance.url.replace("http", "ws")}/ws?code=${code}`, v1);
    clients.push(client);
    await eventually("it is answered", () => client.isOpen || client.closed !== null);
    return client.isOpen;
  }
  const opened = (results: boolean[]) => results.filter((isOpen) => isOpen).length;

  test("max-connections, connections per user; places of a killed worker and of closed connections become free", async () => {
    const limited = await startWorkers(3, {
      "push-verify-uri": verify.url,
      "push-max-connections": "30",
      "push-max-connections-per-user": "7",
    });
    try {
      // The fastest worker could take all places otherwise.
      clients.push(...(await limited.openOnEach("code=first")));
      const ofOne = await Promise.all(Array.from({ length: 20 }, () => attempt(limited, "anna")));
      expect(opened(ofOne)).toBe(7);
      const ofMany = await Promise.all(
        Array.from({ length: 60 }, (_, index) => attempt(limited, `user-${index}`)),
      );
      expect(opened(ofMany)).toBe(20);
      expect(await attempt(limited, "late")).toBe(false);

      process.kill(limited.workerPids()[1] ?? 0, "SIGKILL");
      await eventually(
        "its connections end",
        () => clients.filter(({ isOpen, closed }) => isOpen && closed).length > 0,
      );
      await eventually("the worker is replaced", limited.isReady);
      const left = clients.filter(({ isOpen, closed }) => isOpen && !closed).length;
      const again = await Promise.all(
        Array.from({ length: 60 }, (_, index) => attempt(limited, `again-${index}`)),
      );
      expect(opened(again)).toBe(30 - left);

      for (const client of clients) client.close();
      await eventually("all places are free", async () => {
        const { data } = (await (await limited.call("/feign/connections")).json()) as { data: Report };
        return data.total === 0;
      });
      expect(opened(await Promise.all(Array.from({ length: 20 }, () => attempt(limited, "anna"))))).toBe(7);
    } finally {
      await limited.stop();
    }
  });

  test("the connect rate", async () => {
    const limited = await startWorkers(3, { "push-verify-uri": verify.url, "push-connect-rate": "12/s" });
    try {
      const startedAt = performance.now();
      const results = await Promise.all(
        Array.from({ length: 90 }, (_, index) => attempt(limited, `user-${index}`)),
      );
      const windows = Math.floor((performance.now() - startedAt) / 1000) + 2;
      expect(opened(results)).toBeGreaterThanOrEqual(12);
      expect(opened(results)).toBeLessThanOrEqual(12 * windows);
    } finally {
      await limited.stop();
    }
  });
});
