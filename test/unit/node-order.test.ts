import { expect, test } from "bun:test";
import { inRandomOrder } from "../../src/bus/node-order.ts";
import { rabbitmqBroker } from "../../src/bus/rabbitmq/rabbitmq.ts";

test("instances with the same list of nodes begin with different ones", () => {
  const nodes = ["a", "b", "c"];
  const firsts = new Map<string, number>();
  for (let instance = 0; instance < 3_000; instance++) {
    const order = inRandomOrder(nodes, Math.random);
    expect([...order].sort()).toEqual(nodes);
    firsts.set(order[0] ?? "", (firsts.get(order[0] ?? "") ?? 0) + 1);
  }
  for (const node of nodes) expect(firsts.get(node)).toBeGreaterThan(800);
});

test("a session of RabbitMQ uses one node, and the next session the next in the order of the instance", async () => {
  const ranks = [0.9, 0.1, 0.5];
  const broker = rabbitmqBroker({
    url: "amqp://guest:guest@127.0.0.1:1,127.0.0.1:2,[::1]:3",
    prefix: "push",
    instanceId: "one",
    isDurable: true,
    random: () => ranks.shift() ?? 0,
  });
  const nodes: string[] = [];
  for (let session = 0; session < 4; session++) {
    const abort = new AbortController();
    const opening = broker.open({
      signal: abort.signal,
      connecting: (address) => nodes.push(address),
      broken: (cause) => abort.abort(cause),
      paused() {},
      resumed() {},
      logs: [],
      topicRefused() {},
      warning() {},
    });
    await expect(opening).rejects.toThrow();
    abort.abort();
  }
  expect(nodes).toEqual(["127.0.0.1:2", "[::1]:3", "127.0.0.1:1", "127.0.0.1:2"]);
});
