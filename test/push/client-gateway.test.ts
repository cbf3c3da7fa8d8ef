import { afterEach, expect, test } from "bun:test";
import { type PushMessage, type PushOptions, SlipwayPush } from "../../client/slipway-push.ts";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startGateway } from "../support/gateway-server.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const opened: { close(): void }[] = [];
let apps: PushApp[] = [];

afterEach(async () => {
  for (const client of opened.splice(0)) client.close();
  await Promise.all(apps.map((app) => app.stop()));
  apps = [];
});

async function gateway(settings: Parameters<typeof startPushApp>[0] = {}): Promise<PushApp> {
  const app = await startPushApp(settings);
  apps.push(app);
  return app;
}

function connect(app: { wsUrl: string }, userId: string, more: Partial<PushOptions> = {}) {
  const messages: PushMessage[] = [];
  const opens: { reconnected: boolean; recovered: boolean }[] = [];
  // The verify service of the tests uses the code as the user id.
  const push = new SlipwayPush({
    url: app.wsUrl,
    code: () => userId,
    minDelayMs: 20,
    // A connection that was closed stays so long enough to be seen.
    random: () => 0.5,
    ...more,
  });
  push.on("message", (message) => messages.push(message));
  push.on("open", (open) => opens.push(open));
  opened.push(push);
  push.open();
  return { push, messages, opens, isOpen: () => push.status.state === "open" };
}

test("the client connects to the real gateway and receives messages to all, its user and its channel", async () => {
  const app = await gateway();
  const ann = connect(app, "ann", { channels: ["news"] });
  await eventually("ann is connected", ann.isOpen);
  await app.publish({ targetType: "all", target: "", data: "to all" });
  await app.publish({ targetType: "user", target: "ann", data: "to ann" });
  await app.publish({ targetType: "user", target: "bo", data: "to bo" });
  await app.publish({ targetType: "channel", target: "news", data: "to news" });
  await eventually("three messages arrived", () => ann.messages.length === 3);
  expect(ann.messages.map((message) => message.data)).toEqual(["to all", "to ann", "to news"]);
});

test("a message that asks for it is acknowledged after the listeners have seen it", async () => {
  const app = await gateway();
  const ann = connect(app, "ann");
  await eventually("ann is connected", ann.isOpen);
  const published = await app.publish({ targetType: "user", target: "ann", data: "please sign", ack: true });
  const path = `/feign/messages/${published.headers.get("x-push-id")}`;
  await eventually("it is acknowledged", async () => {
    const { data } = (await (await app.get(path)).json()) as { data: { cause: { code: string } } };
    return data.cause.code === "trace_acknowledged";
  });
  expect(ann.messages.map(({ data }) => data)).toEqual(["please sign"]);
});

test("channels joined later are restored, and a reconnect gets the missed messages, each once", async () => {
  const app = await gateway();
  const ann = connect(app, "ann");
  await eventually("ann is connected", ann.isOpen);
  const joined: string[] = [];
  ann.push.on("joined", (channel) => joined.push(channel));
  ann.push.join("news");
  await eventually("the channel is joined", () => joined.length === 1);
  await app.publish({ targetType: "channel", target: "news", data: "one" });
  await eventually("the first arrived", () => ann.messages.length === 1);
  // 42xx: the client reconnects within a second.
  await app.post("/feign/disconnect", { userId: "ann", code: 4200 });
  await eventually("it was closed", () => !ann.isOpen());
  await app.publish({ targetType: "channel", target: "news", data: "two" });
  await app.publish({ targetType: "user", target: "ann", data: "three" });
  await eventually("what was missed arrived", () => ann.messages.length === 3);
  expect(ann.messages.map((message) => message.data)).toEqual(["one", "two", "three"]);
  expect(ann.opens.at(-1)).toMatchObject({ reconnected: true, recovered: true });
});

test("a client joins as many channels as a connection may be in, and moves between them, without being taken for a flood", async () => {
  const app = await gateway();
  const name = (index: number) => `频道名称很长所以地址放不下这么多频道名字${index}`;
  const names = Array.from({ length: 120 }, (_, index) => name(index));
  const ann = connect(app, "ann", { channels: names });
  const left: string[] = [];
  ann.push.on("left", (channel) => left.push(channel));
  await eventually("ann is connected", ann.isOpen);
  // The channels that did not fit into the query are joined afterwards, far more than client-message-rate.
  await eventually(
    "all are joined",
    async () => (await app.metric("slipway_push_channels")) === names.length,
  );
  for (const channel of names.slice(60)) ann.push.leave(channel);
  for (let index = 0; index < 60; index++) ann.push.join(`later-${index}`);
  const joined: string[] = [];
  ann.push.on("joined", (channel) => joined.push(channel));
  await eventually("the new ones are joined", () => joined.includes("later-59"));
  expect(left).toEqual(names.slice(60));
  expect(ann.opens).toHaveLength(1);
  expect(ann.push.status).toMatchObject({ state: "open", closeCode: null });
});

test("a kick ends the reconnects, and a refused channel is reported and not requested again", async () => {
  const app = await gateway();
  const ann = connect(app, "ann");
  await eventually("ann is connected", ann.isOpen);
  const problems: (string | null)[] = [];
  ann.push.on("problem", ({ channel }) => problems.push(channel));
  ann.push.join("private-project-1");
  await eventually("the refusal arrived", () => problems.length === 1);
  expect(problems).toEqual(["private-project-1"]);
  expect(ann.push.channels).toEqual([]);
  await app.post("/feign/disconnect", { userId: "ann" });
  await eventually("it stays closed", () => ann.push.status.state === "closed");
  expect(ann.push.status.closeCode).toBe(4004);
});

test("a client without messages for longer than resume.age still gets the missed messages", async () => {
  const clock = manualClock();
  const server = await startGateway({}, clock);
  let beats = 0;
  class Counting extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      this.addEventListener("message", ({ data }) => void (data === "ping" && beats++));
    }
  }
  const ann = connect(server, "ann", { heartbeatIntervalMs: 20, webSocket: Counting });
  const send = (target: string, data: string) =>
    server.gateway.publisher.publish({ targetType: "user", target, data });
  await eventually("ann is connected", ann.isOpen);
  send("ann", "one");
  await eventually("it arrived", () => ann.messages.length === 1);
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    send("bo", `not for ann ${minute}`);
    const before = beats;
    await eventually("two more heartbeats are answered", () => beats >= before + 2);
  }
  // 42xx: the client reconnects within a second.
  await server.gateway.control.disconnect({ userId: "ann" }, 4200);
  await eventually("it was closed", () => !ann.isOpen());
  send("ann", "two");
  await eventually("what was missed arrived", () => ann.messages.length === 2);
  expect(ann.messages.map((message) => message.data)).toEqual(["one", "two"]);
  expect(ann.opens.at(-1)).toMatchObject({ reconnected: true, recovered: true });
  await server.stop();
});

test("a gateway that was restarted is found again: nothing is missing with its file, and it says so without it", async () => {
  const dataDir = temporaryFolder("client");
  const restart = async (keepsFile: boolean) => {
    const settings = {
      "server.listen": { host: "127.0.0.1", port: freePort() },
      "data.dir": dataDir,
      "push.log-file": keepsFile,
    };
    const first = await gateway(settings);
    const ann = connect(first, "ann");
    await eventually("ann is connected", ann.isOpen);
    await first.publish({ targetType: "all", target: "", data: "before" });
    await eventually("the message arrived", () => ann.messages.length === 1);
    await first.stop();
    apps = [];
    const second = await gateway(settings);
    await eventually("it reconnected", () => ann.opens.length === 2);
    await second.publish({ targetType: "all", target: "", data: "after" });
    await eventually("the next message arrived", () => ann.messages.length === 2);
    return ann.opens[1];
  };
  expect(await restart(true)).toMatchObject({ reconnected: true, recovered: true });
  expect(await restart(false)).toMatchObject({ reconnected: true, recovered: false });
});
