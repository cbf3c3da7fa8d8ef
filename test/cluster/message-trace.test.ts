import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MessageReport } from "../../src/model/gateway/message-report.ts";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { RawSocket } from "../support/raw-socket.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";

type Traced = MessageReport["messages"][number] & { why: string };

const brokers = [
  { name: "RabbitMQ", url: await serviceUrl("amqp") },
  { name: "Kafka", url: await serviceUrl("kafka") },
].filter(({ url }) => url !== undefined);

const resumeMessages = 20;

describe.each(brokers)("the trace over $name", ({ url = "" }) => {
  const verify = startVerifyService();
  const clients: (PushClient | RawSocket)[] = [];
  let one: PushProcess;
  let two: PushProcess;

  const start = (name: string, prefix: string) =>
    startPushProcess(name, {
      "push-cluster-enabled": "true",
      "push-queue-url": url,
      "push-queue-prefix": prefix,
      "push-queue-instance-id": name,
      "push-verify-uri": verify.url,
      "push-resume-bytes": String(resumeMessages * 500),
      "push-slow-consumer-timeout": "2s",
      "push-max-message-bytes": "200000",
    });

  beforeAll(async () => {
    verify.answer = (code) => {
      const maxLifetime = code.startsWith("short-lived") ? 1 : 0;
      return Response.json({ userId: code, temporary: true, maxLifetime, channels: ["**"] });
    };
    const prefix = freshPrefix();
    [one, two] = await Promise.all([start("one", prefix), start("two", prefix)]);
  });

  afterAll(async () => {
    for (const client of clients) if (client instanceof PushClient) client.close();
    await Promise.all([one?.stop(), two?.stop(), verify.stop()]);
  });

  async function connect(instance: PushProcess, query: string, protocol = "slipway.v1"): Promise<PushClient> {
    const address = `${instance.url.replace("http", "ws")}/ws?${query}`;
    const client = await PushClient.open(address, protocol === "" ? [] : [protocol]);
    clients.push(client);
    if (protocol !== "") await client.receivedType("welcome");
    return client;
  }

  const publish = (body: object, headers: Record<string, string> = {}) =>
    fetch(`${one.url}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ targetType: "user", data: "hello", ...body }),
    });

  /** Returns the id of the message. */
  async function send(target: string, body: object = {}): Promise<string> {
    const answer = await publish({ target, ...body });
    expect(answer.status).toBe(200);
    return answer.headers.get("x-push-id") ?? "";
  }

  /** Undefined until an instance has read the message. */
  const traceOf = async (id: string, asked = one) =>
    (await asked.get<{ data?: Traced }>(`/feign/messages/${id}`)).data;
  const traceOfUser = async (userId: string, asked = one) =>
    (await asked.get<{ data: MessageReport }>(`/feign/messages?user=${userId}`)).data;

  /** Waits until all instances have read the message and the trace has this cause. */
  async function expectCause(id: string, code: string, values: object = {}): Promise<Traced> {
    let traced: Traced | undefined;
    await eventually(`${id} has the cause ${code}`, async () => {
      traced = await traceOf(id);
      return traced?.cause.code === code && traced.instances.length === 2;
    }).catch(() => {});
    expect(traced?.cause).toEqual({ code: code as never, values: expect.objectContaining(values) });
    return traced as Traced;
  }

  async function leave(client: PushClient, code = 1000): Promise<void> {
    client.socket.close(code);
    await client.ended();
  }

  const readByBoth = (id: string) =>
    eventually("both instances have read it", async () => (await traceOf(id))?.instances.length === 2);
  const isGone = (instance: PushProcess, userId: string) =>
    eventually(
      `${userId} has no connection`,
      async () => (await connectionsOn(instance, userId)).length === 0,
    );

  const online = async (userId: string, asked = one) =>
    (await asked.get<{ data: string[] }>("/feign/getOnlineUsers?scope=cluster")).data.includes(userId);
  const connectionsOn = async ({ get }: PushProcess, userId: string) =>
    (await get<{ data: { connections: { bufferedBytes: number }[] } }>(`/feign/connections?userId=${userId}`))
      .data.connections;

  /** Each returns after it has checked the cause that the trace names. */
  const mishaps: Record<string, () => Promise<unknown>> = {
    "nobody is connected": async () => expectCause(await send("absent"), "trace_no_connection"),

    "the user is connected to the other instance": async () => {
      await connect(two, "code=elsewhere");
      const traced = await expectCause(await send("elsewhere"), "trace_written", {
        count: "1",
        instances: "two",
      });
      expect(traced.position).toBeString();
      expect(traced.instances.map(({ instance, written }) => [instance, written])).toEqual([
        ["one", 0],
        ["two", 1],
      ]);
    },

    "the client acknowledges": async () => {
      const client = await connect(two, "code=polite");
      const id = await send("polite", { ack: true });
      const [message] = await client.receivedType("message");
      expect(message).toMatchObject({ id, ack: true });
      await expectCause(id, "trace_unacknowledged", { instances: "two" });
      client.send(JSON.stringify({ type: "ack", id }));
      const traced = await expectCause(id, "trace_acknowledged", {
        count: "1",
        total: "1",
        instances: "two",
      });
      expect(traced.instances[1]?.connections).toMatchObject([{ state: "acknowledged", kind: "normal" }]);
    },

    "a raw connection cannot acknowledge": async () => {
      await connect(two, "code=raw", "");
      await expectCause(await send("raw", { ack: true }), "trace_raw", { instances: "two" });
    },

    "a slow consumer is closed with 4102": async () => {
      const socket = new RawSocket(Number(new URL(two.url).port));
      clients.push(socket);
      await socket.upgrade("/ws?code=slow");
      socket.pause();
      await eventually("unsent bytes remain", async () => {
        for (let count = 0; count < 10; count++) await send("slow", { data: "x".repeat(100_000) });
        return ((await connectionsOn(two, "slow"))[0]?.bufferedBytes ?? 0) > 0;
      });
      await expectCause(await send("slow"), "trace_slow_consumer", { code: "4102", instances: "two" });
      await eventually("the loss is in the log", () => two.output().includes("delivery lost"));
    },

    "the connection is closed before the client acknowledges": async () => {
      const client = await connect(two, "code=hasty");
      const id = await send("hasty", { ack: true });
      await client.receivedType("message");
      await leave(client, 3001);
      await expectCause(id, "trace_closed", { code: "3001", instances: "two" });
    },

    "the message repeats an Idempotency-Key": async () => {
      const key = { "idempotency-key": crypto.randomUUID() };
      const [first, second] = [
        await publish({ target: "twice" }, key),
        await publish({ target: "twice" }, key),
      ];
      const id = first.headers.get("x-push-id") ?? "";
      expect(second.headers.get("x-push-id")).toBe(id);
      const { messages } = await traceOfUser("twice", two);
      expect(messages.map(({ cause }) => cause)).toContainEqual({ code: "trace_repeated", values: { id } });
    },

    "the user id is misspelt": async () => {
      await connect(two, "code=Margarete");
      await expectCause(await send("margarette"), "trace_similar", { similar: "Margarete" });
      expect((await traceOfUser("Margarete")).addressedLike).toEqual(["margarette"]);
    },

    "a message to temp_user finds only normal connections": async () => {
      await connect(two, "code=normal");
      const id = await send("normal", { targetType: "temp_user" });
      await expectCause(id, "trace_only_normal", { user: "normal", instances: "two" });
    },

    "the client resumes later, on the other instance": async () => {
      const before = await connect(one, "code=returning");
      await send("returning");
      const [{ position } = { position: "" }] = await before.receivedType("message");
      await leave(before);
      await isGone(one, "returning");
      const id = await send("returning", { data: "missed" });
      await readByBoth(id);
      const after = await connect(two, `code=returning&resume=${position}`);
      await eventually("it arrives", () => after.messages.includes("missed"));
      await expectCause(id, "trace_resumed", { instances: "two" });
    },

    "the client resumes from a position that is no longer kept": async () => {
      const before = await connect(two, "code=late");
      const [{ lastId } = { lastId: "" }] = before.ofType("welcome");
      await leave(before);
      await isGone(two, "late");
      const id = await send("late");
      for (let count = 0; count < 2 * resumeMessages; count++) await send("others");
      await readByBoth(await send("others"));
      const after = await connect(two, `code=late&resume=${lastId}`);
      expect(after.ofType("welcome")[0]).toMatchObject({ recovered: false });
      await expectCause(id, "trace_gap", { user: "late" });
    },

    "the lifetime of the connection has ended": async () => {
      const client = await connect(two, "code=short-lived&temp=1");
      expect((await client.ended()).code).toBe(4003);
      await isGone(two, "short-lived");
      await expectCause(await send("short-lived"), "trace_lifetime", { code: "4003" });
    },

    "the connection was closed by the service": async () => {
      const client = await connect(two, "code=kicked");
      await fetch(`${one.url}/feign/disconnect`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ userId: "kicked" }),
      });
      await client.ended();
      await isGone(two, "kicked");
      await expectCause(await send("kicked"), "trace_closed_earlier", { code: "4004" });
    },

    "the client connects after the message": async () => {
      const id = await send("early-bird");
      await expectCause(id, "trace_no_connection");
      await connect(two, "code=early-bird");
      await expectCause(id, "trace_connected_later", { user: "early-bird" });
    },

    "the publish is refused": async () => {
      expect((await publish({ target: "refused", data: "x".repeat(200_001) })).status).toBe(413);
      expect((await publish({ target: "refused", data: 7 })).status).toBe(400);
      const { messages } = await traceOfUser("refused", two);
      expect(messages.map(({ cause }) => [cause.code, cause.values.code]).toSorted()).toEqual([
        ["trace_refused", "40004"],
        ["trace_refused", "41301"],
      ]);
      await eventually("both are in the log", () => one.output().split("publish refused").length === 3);
    },

    "the channel has no members": async () => {
      await connect(two, "code=member&channel=busy");
      const empty = await send("empty", { targetType: "channel" });
      await expectCause(empty, "trace_no_members", { channel: "empty" });
      const busy = await send("busy", { targetType: "channel" });
      await expectCause(busy, "trace_counted", { count: "1", instances: "two" });
    },

    "a user is in a channel on one instance, and was in it on the other": async () => {
      const causesOf = async (userId: string, asked: PushProcess) =>
        (await traceOfUser(userId, asked)).messages
          .filter(({ targetType }) => targetType === "channel")
          .map(({ cause: { code, values } }) => [code, values.instances ?? values.code]);
      const before = await connect(one, "code=wanderer&channel=road");
      await leave(before, 3001);
      await isGone(one, "wanderer");
      await readByBoth(await send("road", { targetType: "channel" }));
      for (const asked of [one, two])
        expect(await causesOf("wanderer", asked)).toEqual([["trace_left_by_close", "3001"]]);
      expect((await traceOfUser("wanderer")).user).toMatchObject({
        connections: [],
        lastClosed: { closeCode: 3001 },
      });
      await connect(two, "code=wanderer&channel=road");
      await readByBoth(await send("road", { targetType: "channel" }));
      for (const asked of [one, two])
        expect((await causesOf("wanderer", asked))[0]).toEqual(["trace_member", "two"]);
      expect((await traceOfUser("wanderer")).user?.connections).toMatchObject([
        { instance: "two", channels: ["road"] },
      ]);
    },
  };

  for (const [name, mishap] of Object.entries(mishaps)) test(name, mishap);

  test("contents are not shown, and an unknown message is answered 404", async () => {
    const id = await send("curious", { data: "the secret" });
    await expectCause(id, "trace_no_connection");
    expect(JSON.stringify([await traceOf(id), await traceOfUser("curious")])).not.toContain("the secret");
    const unknown = await fetch(`${one.url}/feign/messages/unknown`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: 40403, successful: false });
  });

  // Last, because the instance is gone afterwards.
  test("the instance of the connection is killed", async () => {
    await connect(two, "code=orphan");
    await eventually("one knows where the user is", () => online("orphan"));
    await two.end("SIGKILL");
    const id = await send("orphan");
    await eventually("the trace names the instance", async () => {
      const cause = (await traceOf(id))?.cause;
      return cause?.code === "trace_instance_gone" && cause.values.instances === "two";
    });
  });
});
