import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { startApiServer } from "../support/api-server.ts";
import { freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService, type VerifyService } from "../support/verify-service.ts";

const amqpUrl = await serviceUrl("amqp");
const secret = "private-project-1";
const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Gateway {
  url: string;
  verify: VerifyService;
}

const post = (gateway: { url: string }, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

async function connect(gateway: { url: string }, query: string): Promise<PushClient> {
  const url = `${gateway.url.replace("http", "ws")}/ws?${query}`;
  const client = await PushClient.open(url, ["slipway.v1"]);
  stops.push(() => client.close());
  await client.receivedType("welcome");
  return client;
}

/** The messages that the console receives from `publish`; its connection must stay open. */
async function hearsNothing(client: PushClient, gateway: { url: string }, publish: () => Promise<unknown>) {
  await publish();
  const proof = { targetType: "all", data: "end of the test" };
  expect((await post(gateway, "/feign/publish", proof)).status).toBe(200);
  await eventually("the connection is alive", () => client.messages.includes("end of the test"));
  expect(client.messages).not.toContain("secret news");
}

/** Calls in the name of the console that an application must not make. */
const consoleCalls = [
  ["publish", { targetType: "channel", target: secret, data: "false news" }],
  ["publish", { targetType: "channel", target: `${secret}/task-1`, data: "false news" }],
  ["publish", { targetType: "user", target: "slipway:1", data: "false news" }],
  ["publish", { targetType: "temp_user", target: "slipway:1", data: "false news" }],
  ["disconnect", { userId: "slipway:1" }],
  ["channels/join", { userId: "anna", channel: secret }],
  ["channels/join", { userId: "slipway:1", channel: "news" }],
  ["channels/leave", { userId: "slipway:1", channel: secret }],
  ["channels/grant", { userId: "slipway:1", channels: ["private-project-*"] }],
] as const;

type RoleStart = () => Promise<{
  gateway: Gateway;
  /** How a deploy service in another process authenticates. */
  deployService: Record<string, string>;
  stop(): Promise<void>;
}>;

const namesItself = { "x-slipway-service": "deploy" };

/** The deploy service and the gateway in one process. */
async function startBoth(settings: Parameters<typeof startApiServer>[0] = {}) {
  const verify = startVerifyService();
  const server = await startApiServer(
    { "push.verify-uri": verify.url, "push.drain-delay": 0, "push.drain-period": 0, ...settings },
    undefined,
    "start",
  );
  return {
    server,
    gateway: { url: server.url, verify },
    async stop() {
      await server.stop();
      await verify.stop();
    },
  };
}

const roles: Record<string, RoleStart> = {
  "the push role alone": async () => {
    const gateway = await startPushApp();
    return { gateway, deployService: namesItself, stop: () => gateway.stop() };
  },
  "the console's own server": async () => ({
    ...(await startBoth({ "push.deploy-key": "key of another deploy service" })),
    deployService: { "x-api-key": "key of another deploy service" },
  }),
};

describe.each(Object.entries(roles))(
  "on %s, names of the console are not given from outside:",
  (_role, start) => {
    let started: Awaited<ReturnType<RoleStart>>;
    let gateway: Gateway;
    beforeAll(async () => {
      started = await start();
      gateway = started.gateway;
    });
    afterAll(() => started.stop());

    /** As the deploy service itself. */
    const publishNews = async () => {
      const body = { targetType: "channel", target: secret, data: "secret news" };
      const answer = await post(gateway, "/feign/publish", body, started.deployService);
      expect(answer.status).toBe(200);
    };
    const answering = (answer: object) => {
      gateway.verify.answer = () => Response.json(answer);
    };

    test.each([
      { userId: "slipway:1" },
      { userId: "slipway:1", console: true },
      { userId: "slipway:" },
      { code: 0, successful: true, msg: null, data: "slipway:7", encrypt: false },
      { code: 0, successful: true, data: { userId: "slipway:7", console: true } },
    ])("a verify service that answers %j is refused", async (answer) => {
      answering(answer);
      for (const code of ["x", "slpd_x"]) {
        const url = `${gateway.url.replace("http", "ws")}/ws?code=${code}&temp=1`;
        await expect(PushClient.open(url)).rejects.toThrow("refused");
      }
    });

    test.each([["*"], ["**"], [secret], ["private-*"], ["private-project-?"], ["private-project-1", "**/*"]])(
      "a verify answer that grants %s",
      async (...channels) => {
        answering({ userId: "anna", channels });
        const client = await connect(gateway, `code=x&channel=${secret}&channel=news`);
        expect(client.ofType("welcome")[0]?.channels).not.toContain(secret);
        client.send(JSON.stringify({ type: "join", channel: secret }));
        await client.receivedType("error", 2);
        await hearsNothing(client, gateway, publishNews);
      },
    );

    test("a mark `console` for a user of the application", async () => {
      answering({ userId: "anna", console: true, channels: ["**"] });
      const client = await connect(gateway, `code=x&channel=${secret}`);
      await hearsNothing(client, gateway, publishNews);
    });

    test("an application service that joins, grants or publishes", async () => {
      answering({ userId: "anna" });
      const client = await connect(gateway, "code=x");
      expect(
        (await post(gateway, "/feign/channels/grant", { userId: "anna", channels: ["**"] })).status,
      ).toBe(200);
      client.send(JSON.stringify({ type: "join", channel: secret }));
      await client.receivedType("error");
      for (const [path, body] of consoleCalls) {
        const answer = await post(gateway, `/feign/${path}`, body);
        expect(answer.status).toBe(403);
        expect(await answer.json()).toMatchObject({ code: 40303, successful: false });
      }
      await hearsNothing(client, gateway, publishNews);
    });
  },
);

test.each([
  ["without keys", {}, {}],
  ["with push.api-keys", { "push.api-keys": ["key of the shop"] }, { "x-api-key": "key of the shop" }],
])(
  "on the console's own server, %s, no caller is the deploy service by its own word",
  async (_, settings, key) => {
    const { server, stop } = await startBoth(settings);
    stops.push(stop);
    const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
      for: "console",
    });
    const project = { name: "shop", git: { url: "https://git.example.com/shop.git" } };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    expect(`private-project-${id}`).toBe(secret);
    const console = await connect(server, `temp=1&code=${code}&channel=${secret}`);
    for (const [path, body] of consoleCalls) {
      const answer = await post(server, `/feign/${path}`, body, { ...key, ...namesItself });
      expect(answer.status).toBe(403);
      expect(await answer.json()).toMatchObject({ code: 40303, successful: false });
    }
    const { connectionId, userId } = console.ofType("welcome")[0] ?? {};
    const closed = await post(server, "/feign/disconnect", { connectionId }, { ...key, ...namesItself });
    expect([closed.status, closed.headers.get("x-push-connections")]).toEqual([200, "0"]);
    const report = async (query: string) =>
      fetch(`${server.url}/feign/connections${query}`, { headers: { ...key, ...namesItself } });
    const ofConsole = await report(`?userId=${userId}`);
    expect([ofConsole.status, await ofConsole.text()]).toEqual([403, expect.not.stringContaining(secret)]);
    expect(await (await report("")).text()).not.toContain(secret);
    const forAdmin = await server.admin.request("GET", `/api/push/connections?userId=${userId}`);
    expect(forAdmin.text).toContain(String(connectionId));
    // The deploy service in the same process still reaches the console.
    await server.admin.expect(201, "POST", `/api/projects/${id}/tasks`, { ref: "main" });
    await eventually("the console hears of the task", () => console.messages.length > 0);
    expect(console.messages).not.toContain("false news");
    expect(server.app.warnings.join()).not.toContain("push.deploy-key");
  },
);

test.each([
  ["names the line to set while a caller is believed", {}, true],
  ["is silent with push.deploy-key", { "push.deploy-key": "key of the deploy service" }, false],
  ["is silent where the names are free", { "push.reserve-console-names": false }, false],
])("the start of the push role alone %s", async (_, settings, warns) => {
  const gateway = await startPushApp(settings);
  stops.push(() => gateway.stop());
  const about = gateway.app.warnings.filter((warning) => warning.includes("push.deploy-key"));
  expect(about).toHaveLength(warns ? 1 : 0);
  if (warns) expect(about[0]).toContain("deploy.push.apiKey");
});

test("push.public-channels never names the console's channels", async () => {
  const gateway = await startPushApp({ "push.public-channels": [secret, "**"] });
  stops.push(() => gateway.stop());
  const client = await connect(gateway, `code=anna&channel=${secret}`);
  expect(client.ofType("welcome")[0]?.channels).toEqual([]);
});

test("push.reserve-console-names: false gives the names to applications again", async () => {
  const gateway = await startPushApp({ "push.reserve-console-names": false });
  stops.push(() => gateway.stop());
  gateway.verify.answer = () => Response.json({ userId: "slipway:1", channels: [secret] });
  const client = await connect(gateway, "code=x");
  expect(client.ofType("welcome")[0]).toMatchObject({ userId: "slipway:1", channels: [secret] });
  expect((await gateway.publish({ targetType: "channel", target: secret, data: "ours" })).status).toBe(200);
  await eventually("it arrives", () => client.messages.includes("ours"));
});

describe.if(amqpUrl !== undefined)("a service that writes bare messages to the queue", () => {
  test("does not reach the console's channels", async () => {
    const broker = rabbitmqUnderTest(amqpUrl ?? "");
    const prefix = freshPrefix();
    const gateway = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
    });
    stops.push(() => gateway.stop());
    await eventually("it is ready", async () => (await gateway.get("/readyz")).status === 200);
    const write = (message: object) =>
      broker.write(prefix, "broadcast", "channel:x", [JSON.stringify(message)]);
    await write({ targetType: "channel", target: secret, data: "false news" });
    await write({ targetType: "user", target: "slipway:1", data: "false news" });
    await eventually(
      "both are skipped",
      async () => (await gateway.metric("slipway_push_unreadable_total")) === 2,
    );
  });
});

describe("with a separate push role and push.deploy-key", async () => {
  const port = freePort();
  const deploy = await startApiServer({
    "deploy.push.url": `http://127.0.0.1:${port}`,
    "deploy.push.apiKey": "key of the deploy service",
  });
  const push = await startPushApp({
    "server.listen": { host: "127.0.0.1", port },
    "push.verify-uri": `${deploy.url}/api/push/verify`,
    "push.api-keys": ["key of the shop"],
    "push.deploy-key": "key of the deploy service",
  });
  afterAll(async () => {
    await push.stop();
    await deploy.stop();
  });

  test("the console is admitted and receives messages, and no other key acts for it, whatever headers it sends", async () => {
    const project = { name: "shop", git: { url: "https://git.example.com/shop.git" } };
    const { id } = await deploy.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    const { code } = await deploy.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
      for: "console",
    });
    const channel = `private-project-${id}`;
    const console = await connect(push, `temp=1&code=${code}&channel=${channel}`);
    expect(console.ofType("welcome")[0]).toMatchObject({ channels: [channel] });
    const news = (data: string) => ({ targetType: "channel", target: channel, data });
    const as = (key: string) => ({ "x-api-key": key, "x-slipway-service": "deploy" });
    expect((await push.publish(news("false"), as("key of the shop"))).status).toBe(403);
    expect((await push.publish(news("true"), as("key of the deploy service"))).status).toBe(200);
    await eventually("the news arrive", () => console.messages.includes("true"));
    expect(console.messages).not.toContain("false");
    const { connectionId } = console.ofType("welcome")[0] ?? {};
    const disconnect = async (key: string) => {
      const answer = await post(push, "/feign/disconnect", { connectionId }, as(key));
      return [answer.status, answer.headers.get("x-push-connections")];
    };
    expect(await disconnect("key of the shop")).toEqual([200, "0"]);
    expect((await push.publish(news("still there"), as("key of the deploy service"))).status).toBe(200);
    await eventually("it is still connected", () => console.messages.includes("still there"));
    expect(await disconnect("key of the deploy service")).toEqual([200, "1"]);
  });

  test.each([
    ["channel", secret],
    ["user", "slipway:1"],
    ["temp_user", "slipway:1"],
  ])("the management API does not publish to the %s %s either", async (targetType, target) => {
    await deploy.admin.expect(422, "POST", "/api/push/publish", { targetType, target, data: "false news" });
  });
});
