import { afterEach, expect, test } from "bun:test";
import { Probes } from "../fault-suite/probes.ts";
import type { Instance, Part } from "../fault-suite/setups/part.ts";
import type { World } from "../fault-suite/setups/world.ts";

const servers: { stop(force: boolean): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});

/** One gateway whose publishes get these statuses, the last one from then on. */
function probesOf(readyz: () => number, publishes: number[]): Probes {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response("", { status: readyz() }),
  });
  servers.push(server);
  const part = { name: "gateway 1", isRunning: () => true, isReady: async () => true } as Part;
  const instance = { part, url: server.url.origin } as Instance;
  const push = { probe: async () => (publishes.length > 1 ? publishes.shift() : publishes[0]) };
  return new Probes({ parts: [part], instances: [instance] } as unknown as World, undefined, push as never);
}
const found = async (checked: ReturnType<Probes["whileBroken"]>) =>
  (await checked).map(({ promise }) => promise);
const ready = () => 200;

test("an instance that stays ready and refuses every publish is reported, during a fault and after it", async () => {
  expect(await found(probesOf(ready, [503]).whileBroken())).toEqual(["ready-but-unusable"]);
  expect(await found(probesOf(ready, [503]).untilRecovered(false))).toEqual(["ready-but-unusable"]);
  expect(await found(probesOf(ready, [503]).untilRecovered(true))).toEqual(["ready-but-unusable"]);
});

test("an instance that works, or that says that it is not ready, is not reported", async () => {
  expect(await found(probesOf(ready, [200]).whileBroken())).toEqual([]);
  expect(await found(probesOf(() => 503, [503]).whileBroken())).toEqual([]);
  expect(await found(probesOf(ready, [503, 200]).untilRecovered(true))).toEqual([]);
});
