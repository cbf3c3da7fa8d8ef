/**
 * Connections of the JavaScript client that are watched over a restart of the gateway. Runs as a separate process; takes
 * one order at a time by IPC and answers with the result.
 */
import { join } from "node:path";
import type { PushOptions, SlipwayPush } from "../../client/slipway-push.ts";
import type { ReturningOrder, ReturningResult } from "../restart.ts";

interface Watched {
  push: SlipwayPush;
  lostAtMs: number | null;
  returnedAtMs: number | null;
  /** Of the connection before, then of the first one that opened after the loss. */
  transport: string;
}

const clients: Watched[] = [];
const openAtOnce = 100;
const nowMs = () => performance.timeOrigin + performance.now();

function watch(push: SlipwayPush): Promise<void> {
  const watched: Watched = { push, lostAtMs: null, returnedAtMs: null, transport: "" };
  clients.push(watched);
  const { promise, resolve } = Promise.withResolvers<void>();
  push.on("open", ({ transport }) => {
    if (watched.returnedAtMs !== null) return;
    watched.transport = transport;
    if (watched.lostAtMs !== null) watched.returnedAtMs = nowMs();
    resolve();
  });
  push.on("status", ({ state }) => {
    if (state === "waiting" && watched.transport !== "") watched.lostAtMs ??= nowMs();
  });
  push.open();
  return promise;
}

const orders = {
  async open({ root, url, from, count }: Extract<ReturningOrder, { type: "open" }>) {
    const module = await import(join(root, "client/slipway-push.ts"));
    const Client = module.SlipwayPush as new (options: PushOptions) => SlipwayPush;
    let next = from;
    const run = async () => {
      while (next < from + count) {
        const user = `user${next++}`;
        await watch(new Client({ url, code: () => user }));
      }
    };
    await Promise.all(Array.from({ length: openAtOnce }, run));
    return [];
  },

  /** Waits until all have returned, or for the time. */
  async returned({ withinMs }: Extract<ReturningOrder, { type: "returned" }>) {
    const deadline = nowMs() + withinMs;
    while (clients.some(({ returnedAtMs }) => returnedAtMs === null) && nowMs() < deadline)
      await Bun.sleep(50);
    return clients.map(({ lostAtMs, returnedAtMs, transport }) => ({ lostAtMs, returnedAtMs, transport }));
  },
};

process.on("message", async (order: ReturningOrder) => {
  const result: ReturningResult = { returns: [] };
  try {
    result.returns = await (order.type === "open" ? orders.open(order) : orders.returned(order));
  } catch (error) {
    result.error = String(error);
  }
  process.send?.(result);
});
process.on("disconnect", () => process.exit(0));
