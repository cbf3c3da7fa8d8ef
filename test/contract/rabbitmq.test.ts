import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { connect as connectPlain } from "node:net";
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
import { memoryLimits, type RunningRabbitmq, startRabbitmq } from "../support/rabbitmq.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");

describe.if(amqpUrl !== undefined)("RabbitMQ", () => {
  const url = amqpUrl ?? "";
  const broker = rabbitmqUnderTest(url);
  const opened: Bus[] = [];
  const bare = connectTo(url);

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((bus) => bus.close()));
  });
  afterAll(() => bare.unsafeDestroy());

  function start(bus: Bus): { id: string }[] {
    const received: { id: string }[] = [];
    bus.subscribe("broadcast", (messages) => {
      received.push(...(messages as { id: string }[]));
    });
    bus.start();
    opened.push(bus);
    return received;
  }

  test("messages published while an instance restarts wait in its queue and are handled before it is ready", async () => {
    const prefix = freshPrefix();
    const sender = broker.bus({ prefix, instanceId: "sender" });
    start(sender);
    const first = broker.bus({ prefix, instanceId: "away" });
    start(first);
    await eventually("both are ready", () => sender.state().ready && first.state().ready);
    await first.close();
    const ids = Array.from({ length: 5_000 }, (_, number) => `while-away-${number}`);
    // In portions: each publish must be confirmed within seconds, also on a busy machine.
    for (let at = 0; at < ids.length; at += 500)
      await Promise.all(ids.slice(at, at + 500).map((id) => sender.publish("broadcast", "user:1", { id })));
    const second = broker.bus({ prefix, instanceId: "away" });
    const received = start(second);
    let receivedWhenReady = -1;
    second.onStateChange(({ ready }) => {
      if (ready) receivedWhenReady = received.length;
    });
    await eventually("it is ready again", () => second.state().ready);
    expect(receivedWhenReady).toBe(ids.length);
    expect(received.map(({ id }) => id)).toEqual(ids);
  });

  test("handled messages are acknowledged when an instance ends in order", async () => {
    const prefix = freshPrefix();
    const bus = broker.bus({ prefix, instanceId: "ending" });
    const received = start(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const ids = Array.from({ length: 1_000 }, (_, number) => `last-${number}`);
    await Promise.all(ids.map((id) => bus.publish("broadcast", "user:1", { id })));
    await bus.close();
    const handedOver = received.length;
    const { messageCount } = await bare.queueDeclare({ queue: `${prefix}.broadcast.ending`, passive: true });
    expect(messageCount).toBe(ids.length - handedOver);
  });

  test("a second instance with the same id is refused with the reason", async () => {
    const prefix = freshPrefix();
    const first = broker.bus({ prefix, instanceId: "twin" });
    start(first);
    await eventually("the first is ready", () => first.state().ready);
    const second = broker.bus({ prefix, instanceId: "twin" });
    start(second);
    await eventually("the second reports the reason", () => /instance-id/.test(second.state().detail));
    expect(second.state().ready).toBe(false);
    expect(first.state().ready).toBe(true);
  });

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

  test("a queue that is deleted under a consumer is declared again", async () => {
    const prefix = freshPrefix();
    const bus = broker.bus({ prefix, instanceId: "one" });
    const received = start(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    await bare.queueDelete(`${prefix}.broadcast.one`);
    await eventually("it is noticed", () => !bus.state().ready);
    await eventually("the bus is ready again", () => bus.state().ready);
    await bus.publish("broadcast", "user:1", { id: "after" });
    await eventually("it arrived", () => received.length === 1);
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
    await secure.publish("broadcast", "user:1", { id: "secret" });
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

    test("while the broker blocks publishers, consuming continues and publishing is refused", async () => {
      const prefix = freshPrefix();
      const sender = hurt.bus({ prefix, instanceId: "sender" });
      start(sender);
      const before = hurt.bus({ prefix, instanceId: "one" });
      start(before);
      await eventually("both are ready", () => sender.state().ready && before.state().ready);
      await before.close();
      const send = (count: number) =>
        Promise.all(
          Array.from({ length: count }, () => sender.publish("broadcast", "", { id: crypto.randomUUID() })),
        );
      // After catching up once, later messages must not be counted as queued at the start.
      await send(10);
      const bus = hurt.bus({ prefix, instanceId: "one" });
      let held = Promise.resolve();
      let received = 0;
      bus.subscribe("broadcast", async (messages) => {
        await held;
        received += messages.length;
      });
      bus.start();
      opened.push(bus);
      await eventually("it has caught up", () => bus.state().ready && received === 10);
      const gate = Promise.withResolvers<void>();
      held = gate.promise;
      await send(1_000);
      await control("set_vm_memory_high_watermark", memoryLimits.alarm);
      // The broker blocks only connections that publish.
      await eventually("a publish is refused", () =>
        bus.publish("control", "", { id: crypto.randomUUID() }).then(
          () => false,
          () => true,
        ),
      );
      const states: BusState[] = [];
      bus.onStateChange((state) => states.push(state));
      expect(bus.state()).toEqual({
        ready: false,
        isReceiving: true,
        detail: expect.stringContaining("RabbitMQ accepts no messages"),
      });
      await expect(bus.publish("control", "", { id: "at once" })).rejects.toThrow("accepts no messages");
      gate.resolve();
      await eventually("all that waited arrived", () => received === 1_010);
      expect(states).toEqual([]);
      await control("set_vm_memory_high_watermark", memoryLimits.ease);
      await eventually("it is ready again", () => bus.state().ready);
      await bus.publish("control", "", { id: "after" });
      expect(states.map(({ ready }) => ready)).toEqual([true]);
    });

    test("a message that is too large is refused as such, and all others arrive once and in order", async () => {
      const bus = hurt.bus({ prefix: freshPrefix(), instanceId: "one" });
      const received = start(bus);
      await eventually("the bus is ready", () => bus.state().ready);
      const states: BusState[] = [];
      bus.onStateChange((state) => states.push(state));
      const large = () => ({ id: crypto.randomUUID(), text: "x".repeat(3 * 1024 * 1024) });
      const ids = Array.from({ length: 200 }, (_, number) => `small-${number}`);
      const publishing = ids.map((id) => bus.publish("broadcast", "", { id }));
      publishing.splice(100, 0, bus.publish("broadcast", "", large()));
      publishing.push(...ids.map((id) => bus.publish("broadcast", "", { id: `later ${id}` })));
      const outcomes = await Promise.allSettled(publishing);
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(refused.map(({ reason }) => reason.code)).toEqual(["too_large"]);
      expect(refused[0]?.reason.message).toContain("max_message_size");
      expect(await bus.publish("broadcast", "", large()).catch((fault: Fault) => fault.code)).toBe(
        "too_large",
      );
      await bus.publish("broadcast", "", { id: "last" });
      await eventually("the last arrived", () => received.at(-1)?.id === "last");
      expect(received.map(({ id }) => id)).toEqual([...ids, ...ids.map((id) => `later ${id}`), "last"]);
      expect(states).toEqual([]);
    });

    test("a missing permission for the copies of keyed messages does not prevent a start", async () => {
      const bus = hurt.bus({ prefix: freshPrefix(), instanceId: "one" });
      await control("set_permissions", "guest", "^(?!.*keyed$)", ".*", ".*");
      const received = start(bus);
      await eventually("the bus is ready", () => bus.state().ready);
      await bus.publish("broadcast", "", { id: "with a key", idempotencyKey: "k" });
      await eventually("it arrived", () => received.length === 1);
      await control("set_permissions", "guest", ".*", ".*", ".*");
    });

    test("a missing permission for topics of other services does not stop the instances", async () => {
      const bus = hurt.bus({ prefix: freshPrefix(), instanceId: "one" });
      const received = start(bus);
      await control("set_permissions", "guest", ".*", "^(?!.*events$|amq\\.default$)", ".*");
      await eventually("the bus is ready", () => bus.state().ready);
      const states: BusState[] = [];
      bus.onStateChange((state) => states.push(state));
      for (const topic of ["events", "client"] as const)
        await expect(bus.publish(topic, "", { id: topic })).rejects.toThrow("access to exchange");
      await bus.publish("broadcast", "", { id: "still talking" });
      await eventually("it arrived", () => received.length === 1);
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
