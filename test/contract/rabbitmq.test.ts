import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import {
  connect as connectPlain,
  createServer as createPlainServer,
  type Server as PlainServer,
} from "node:net";
import { createServer, type Server } from "node:tls";
import { BrokerBus } from "../../src/bus/broker-bus.ts";
import type { Bus, BusState } from "../../src/bus/bus.ts";
import { type RabbitmqOptions, rabbitmqBroker } from "../../src/bus/rabbitmq/rabbitmq.ts";
import { systemClock } from "../../src/clock.ts";
import type { Fault } from "../../src/errors.ts";
import {
  type BrokerUnderTest,
  connectTo,
  freshPrefix,
  rabbitmqUnderTest,
  silentLog,
} from "../support/buses.ts";
import { makeCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type BusReader, readBus } from "../support/log-reader.ts";
import { type RunningRabbitmq, startRabbitmq } from "../support/rabbitmq.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");

describe.if(amqpUrl !== undefined)("RabbitMQ", () => {
  const url = amqpUrl ?? "";
  const broker = rabbitmqUnderTest(url);
  const opened: Bus[] = [];
  const bare = connectTo(url);

  afterEach(() => Promise.all(opened.splice(0).map((bus) => bus.close())));
  afterAll(() => bare.unsafeDestroy());

  function start(bus: Bus): BusReader {
    opened.push(bus);
    return readBus(bus);
  }

  test("client messages wait in a durable, bounded queue, in order, and no confirmed one is lost", async () => {
    const prefix = freshPrefix();
    const bus = broker.bus({ prefix, instanceId: "one" });
    bus.start();
    opened.push(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const ids = Array.from({ length: 100 }, (_, number) => `client-${number}`);
    await Promise.all(ids.map((id) => bus.publish("client", "connection:1", { id })));
    const queue = `${prefix}.client`;
    const read: string[] = [];
    for (let message = await bare.basicGet({ queue, noAck: true }); message; ) {
      read.push(message.body.id);
      message = await bare.basicGet({ queue, noAck: true });
    }
    expect(read).toEqual(ids);
    await bare.queueDelete(queue);
    await expect(bus.publish("client", "connection:1", { id: "nowhere" })).rejects.toThrow("does not exist");
    await bus.publish("client", "connection:1", { id: "declared again" });
    expect((await bare.basicGet({ queue, noAck: true }))?.body.id).toBe("declared again");
    await bare.queueDelete(queue);
  });

  test("a queue that is not a stream is refused with the command that removes it", async () => {
    const prefix = freshPrefix();
    const queue = `${prefix}.control`;
    await bare.queueDeclare({ queue, durable: true });
    const bus = broker.bus({ prefix, instanceId: "one" });
    start(bus);
    await eventually("it is refused", () => bus.state().detail.includes("is not a stream"));
    expect(bus.state()).toEqual({
      ready: false,
      detail: expect.stringContaining(
        `remove it with \`rabbitmqctl delete_queue ${queue}\`, or set push.queue.prefix to another name`,
      ),
    });
    await bare.queueDelete(queue);
    await eventually("it is ready", () => bus.state().ready);
  });

  test("a stream with arguments of an operator is used as it is", async () => {
    const prefix = freshPrefix();
    const queue = `${prefix}.broadcast`;
    await bare.queueDeclare({
      queue,
      durable: true,
      arguments: { "x-queue-type": "stream", "x-max-age": "7D" },
    });
    const { bus, events } = start(broker.bus({ prefix, instanceId: "one" }));
    await eventually("it is ready", () => bus.state().ready);
    await bus.broadcast.append({ id: "stored" });
    await eventually("it arrived", () => events.at(-1) === "stored");
  });

  test("a RabbitMQ without streams is refused with its version", async () => {
    const { port, server } = await olderRabbitmq(Number(new URL(url).port));
    const bus = rabbitmqUnderTest(`amqp://guest:guest@127.0.0.1:${port}`).bus({
      prefix: freshPrefix(),
      instanceId: "one",
    });
    start(bus);
    await eventually("it is refused", () =>
      bus.state().detail.includes("RabbitMQ 3.8.9 has no streams: Slipway needs version 3.9 or later"),
    );
    await bus.close();
    server.close();
  });

  test("an IPv6 address is connected to, not looked up as a name", async () => {
    const address = `[::1]:${freePort()}`;
    const bus = rabbitmqUnderTest(`amqp://guest:guest@${address}`).bus({
      prefix: freshPrefix(),
      instanceId: "one",
    });
    start(bus);
    await eventually("it has tried", () => bus.state().detail.includes("next try"));
    // No server listens there, and the machine may not have IPv6.
    expect(bus.state().detail).not.toMatch(/ENOTFOUND|EAI_/);
    expect(bus.state().detail).toMatch(/ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT|ENETUNREACH/);
  });

  test("amqps checks the certificate, and a wrong password is reported", async () => {
    const { certificate, key } = await makeCertificate();
    const { port, server } = await tlsBefore(Number(new URL(url).port), certificate, key);
    const open = (options: Partial<RabbitmqOptions>) => {
      const prefix = freshPrefix();
      const bus = new BrokerBus(
        rabbitmqBroker({
          url: `amqps://guest:guest@localhost:${port}`,
          prefix,
          instanceId: "one",
          isDurable: true,
          random: Math.random,
          tlsCa: certificate,
          ...options,
        }),
        { prefix, log: silentLog, clock: systemClock, random: Math.random },
      );
      start(bus);
      return bus;
    };
    const secure = open({});
    await eventually("ready over TLS", () => secure.state().ready);
    await secure.broadcast.append({ id: "secret" });
    const wrongAuthority = open({ tlsCa: (await makeCertificate()).certificate });
    await eventually("the certificate is refused", () =>
      /certificate|self.signed/i.test(wrongAuthority.state().detail),
    );
    const wrongPassword = open({ url: `amqps://guest:wrong@localhost:${port}` });
    await eventually("the password is refused", () => /ACCESS.REFUSED/.test(wrongPassword.state().detail));
    server.close();
  });

  describe("that refuses", () => {
    let service: RunningRabbitmq;
    let hurt: BrokerUnderTest;
    const control: RunningRabbitmq["control"] = (...command) => service.control(...command);

    beforeAll(async () => {
      service = await startRabbitmq(`max_message_size = ${2 * 1024 * 1024}`);
      hurt = rabbitmqUnderTest(service.url);
    });
    afterAll(() => service.stop());

    test("a message that is too large is refused as such, and all others arrive in order", async () => {
      const bus = hurt.bus({ prefix: freshPrefix(), instanceId: "one" });
      const { events } = start(bus);
      await eventually("the bus is ready", () => bus.state().ready);
      const states: BusState[] = [];
      bus.onStateChange((state) => states.push(state));
      const large = () => ({ id: crypto.randomUUID(), text: "x".repeat(3 * 1024 * 1024) });
      const ids = Array.from({ length: 200 }, (_, number) => `small-${number}`);
      const publishing = ids.map((id) => bus.broadcast.append({ id }));
      publishing.splice(100, 0, bus.broadcast.append(large()));
      publishing.push(...ids.map((id) => bus.broadcast.append({ id: `later ${id}` })));
      const outcomes = await Promise.allSettled(publishing);
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(refused.map(({ reason }) => reason.code)).toEqual(["too_large"]);
      expect(refused[0]?.reason.message).toContain("max_message_size");
      expect(await bus.broadcast.append(large()).catch((fault: Fault) => fault.code)).toBe("too_large");
      await bus.broadcast.append({ id: "last" });
      await eventually("the last arrived", () => events.at(-1) === "last");
      // Those in flight when the channel was closed may be stored twice; a reader knows them by their id.
      expect([...new Set(events)]).toEqual(["caught up", ...ids, ...ids.map((id) => `later ${id}`), "last"]);
      expect(states).toEqual([]);
    });

    test("the documented permissions are enough, with each topic in use", async () => {
      const prefix = freshPrefix();
      const own = `^${prefix}\\.(broadcast|control|events|client)$`;
      await control("add_user", "limited", "secret");
      await control("set_permissions", "limited", own, `${own}|^amq\\.default$`, own);
      const limited = rabbitmqUnderTest(hurt.url.replace("guest:guest", "limited:secret"));
      const { bus, events } = start(limited.bus({ prefix, instanceId: "one" }));
      await eventually("the bus is ready", () => bus.state().ready);
      await bus.broadcast.append({ id: "stored" });
      await bus.control.append({ id: "stored too" });
      for (const topic of ["events", "client"] as const) await bus.publish(topic, "", { id: topic });
      await eventually("it arrived", () => events.at(-1) === "stored");
      const stranger = start(limited.bus({ prefix: `${prefix}-other`, instanceId: "one" }));
      await eventually("another prefix is refused", () =>
        /access to exchange .* refused/.test(stranger.bus.state().detail),
      );
    });

    test("a missing permission for topics of other services does not stop the instances", async () => {
      const bus = hurt.bus({ prefix: freshPrefix(), instanceId: "one" });
      const { events } = start(bus);
      await control("set_permissions", "guest", ".*", "^(?!.*events$|amq\\.default$)", ".*");
      await eventually("the bus is ready", () => bus.state().ready);
      const states: BusState[] = [];
      bus.onStateChange((state) => states.push(state));
      for (const topic of ["events", "client"] as const)
        await expect(bus.publish(topic, "", { id: topic })).rejects.toThrow("access to exchange");
      await bus.broadcast.append({ id: "still talking" });
      await eventually("it arrived", () => events.at(-1) === "still talking");
      expect(states).toEqual([]);
      await control("set_permissions", "guest", ".*", ".*", ".*");
      for (const topic of ["events", "client"] as const)
        await eventually(`${topic} are taken`, () =>
          bus.publish(topic, "", { id: "with the right" }).then(
            () => true,
            () => false,
          ),
        );
      expect(states).toEqual([]);
    });
  });
});

/** RabbitMQ 3.8 as seen by a client: it names its version, and refuses the queue type "stream". */
async function olderRabbitmq(target: number): Promise<{ port: number; server: PlainServer }> {
  const replace = (bytes: Buffer, from: RegExp, to: string) =>
    Buffer.from(
      bytes.toString("latin1").replace(from, (found) => to.padEnd(found.length)),
      "latin1",
    );
  const server = createPlainServer((socket) => {
    const onward = connectPlain(target, "127.0.0.1");
    socket.on("error", () => onward.destroy());
    onward.on("error", () => socket.destroy());
    socket.on("data", (bytes: Buffer) =>
      onward.write(replace(bytes, /(?<=x-queue-typeS\0\0\0.)stream/, "strean")),
    );
    onward.on("data", (bytes: Buffer) => socket.write(replace(bytes, /(?<=versionS\0\0\0.)[\d.]+/, "3.8.9")));
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroy());
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return { port: (server.address() as { port: number }).port, server };
}

/** TLS in front of a broker, terminated as by a load balancer. */
async function tlsBefore(
  target: number,
  cert: string,
  key: string,
): Promise<{ port: number; server: Server }> {
  const server = createServer({ cert, key }, (socket) => {
    const onward = connectPlain(target, "127.0.0.1");
    socket.on("error", () => onward.destroy());
    onward.on("error", () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  server.on("tlsClientError", () => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return { port: (server.address() as { port: number }).port, server };
}
