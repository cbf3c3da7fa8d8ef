import { afterEach, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { presenceGraceMs } from "../../src/push/presence/presence.ts";
import { eventually } from "../support/eventually.ts";
import { type GatewayServer, startGateway } from "../support/gateway-server.ts";
import { PushClient } from "../support/push-client.ts";
import { type FrameClient, openV1, transports } from "../support/transports.ts";

const room = "presence-room";
const v1 = ["slipway.v1"];
let server: GatewayServer | null = null;
const clients: FrameClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server?.stop();
  server = null;
});

async function gateway() {
  const clock = manualClock();
  const started = await startGateway({ "push.ping-interval": 600_000, "push.pong-timeout": 900_000 }, clock);
  server = started;
  const open = async (query: string, protocols = v1) => {
    const client = await PushClient.open(`${started.wsUrl}?${query}`, protocols);
    clients.push(client);
    return client;
  };
  /** The tick of the gateway starts presence and appends its beats. */
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(Math.min(1_000, ms - passed));
      started.gateway.tick();
      // What the tick appends is read in the next turn.
      await new Promise(setImmediate);
    }
  };
  await advance(1_000);
  return { ...started, open, advance };
}

function usersOf({ port }: GatewayServer, query: string): Promise<{ status: number; body: unknown }> {
  const url = `http://127.0.0.1:${port}/feign/getChannelUsers${query}`;
  return fetch(url).then(async (answer) => ({ status: answer.status, body: await answer.json() }));
}

async function present(running: GatewayServer, channel = room): Promise<string[]> {
  const { body } = await usersOf(running, `?channel=${channel}`);
  return (body as { data: string[] }).data.sort();
}

function noticesTo(client: FrameClient, about: string): Record<string, unknown>[] {
  const types = ["memberJoined", "memberLeft"];
  return client.parsed.filter(({ type, userId }) => types.includes(String(type)) && userId === about);
}

test.each(transports)(
  "members of a presence channel are told who joins it, and who leaves it after the grace (%s)",
  async (transport) => {
    const running = await gateway();
    const open = async (query: string) => {
      const client = await openV1(transport, running.url, query);
      clients.push(client);
      return client;
    };
    const ann = await open(`code=ann&channel=${room}`);
    const raw = await running.open(`code=raw&channel=${room}`, []);
    const outside = await running.open("code=outside&channel=news");
    await eventually("both are in the room", async () => (await present(running)).length === 2);
    const bo = await open(`code=bo&channel=${room}`);
    await eventually("ann is told", () => noticesTo(ann, "bo").length === 1);
    expect(noticesTo(ann, "bo")).toEqual([{ type: "memberJoined", channel: room, userId: "bo" }]);
    expect(await present(running)).toEqual(["ann", "bo", "raw"]);

    bo.close();
    await eventually("he is not in the room", async () => (await present(running)).join() === "ann,raw");
    await running.advance(presenceGraceMs - 1_000);
    expect(noticesTo(ann, "bo")).toHaveLength(1);
    await running.advance(2 * presenceGraceMs);
    await eventually("ann is told", () => noticesTo(ann, "bo").length === 2);
    expect(noticesTo(ann, "bo")[1]).toEqual({ type: "memberLeft", channel: room, userId: "bo" });
    expect(raw.frames).toEqual([]);
    expect(noticesTo(outside, "bo")).toEqual([]);
  },
);

test("who returns within the grace, or keeps another connection, was not away", async () => {
  const running = await gateway();
  const ann = await running.open(`code=ann&channel=${room}`);
  const first = await running.open(`code=bo&channel=${room}`);
  const second = await running.open(`code=bo&channel=${room}`);
  await eventually("ann is told", () => noticesTo(ann, "bo").length === 1);
  second.close();
  await running.advance(3 * presenceGraceMs);
  first.send(JSON.stringify({ type: "leave", channel: room }));
  await eventually("he left", async () => (await present(running)).join() === "ann");
  await running.advance(presenceGraceMs - 2_000);
  first.send(JSON.stringify({ type: "join", channel: room }));
  await eventually("he is back", async () => (await present(running)).join() === "ann,bo");
  await running.advance(3 * presenceGraceMs);
  expect(noticesTo(ann, "bo")).toEqual([{ type: "memberJoined", channel: room, userId: "bo" }]);
});

test("temporary connections and other channels have no members that others see", async () => {
  const running = await gateway();
  const ann = await running.open(`code=ann&channel=${room}&channel=news`);
  await running.open(`code=guest&temp=1&channel=${room}`);
  await running.open("code=bo&channel=news");
  await running.advance(2_000);
  await eventually("ann is in the room", async () => (await present(running)).join() === "ann");
  expect(noticesTo(ann, "guest")).toEqual([]);
  expect(noticesTo(ann, "bo")).toEqual([]);
  expect(await present(running, "presence-empty")).toEqual([]);
});

test("getChannelUsers refuses what is not the name of a presence channel", async () => {
  const running = await gateway();
  for (const query of [
    "",
    "?channel=",
    "?channel=news",
    "?channel=presence-%0a",
    `?channel=presence-${"x".repeat(255)}`,
  ])
    expect(await usersOf(running, query)).toMatchObject({
      status: 400,
      body: { code: 40003, successful: false, message: expect.stringContaining("presence-") },
    });
});
