import { afterAll, describe, expect, test } from "bun:test";
import { signInAt } from "../support/api-server.ts";
import { readCompose } from "../support/compose.ts";
import { ComposeTopology } from "../support/compose-topology.ts";
import { makePostgres } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { StreamClient } from "../support/stream-client.ts";
import { startVerifyService } from "../support/verify-service.ts";

const haproxy = await serviceUrl("haproxy");
const queueUrl = await serviceUrl("amqp");
const postgresUrl = await serviceUrl("postgres");

const apiKey = "the api key of this topology";
const deployKey = "the key of the deploy service";
const adminPassword = "the password of this topology";
const variables = {
  QUEUE_URL: queueUrl ?? "",
  PUSH_API_KEY: apiKey,
  DEPLOY_KEY: deployKey,
  ALLOWED_ORIGINS: "https://www.example.com",
};
const gatewaySettings = (prefix: string) => ({
  SLIPWAY_PUSH_QUEUE_PREFIX: `${prefix}-${process.pid}`,
  SLIPWAY_PUSH_DRAIN_DELAY: "8s",
  SLIPWAY_PUSH_DRAIN_PERIOD: "1s",
});
const insidePaths = [
  "/feign/publish",
  "/feign/getOnlineUsers",
  "/metrics",
  "/readyz",
  "//feign/publish",
  "/%66eign/publish",
];

/** A load balancer that has not checked its servers yet returns its own errors. */
const serves = async (url: string) => ((await fetch(url).catch(() => null))?.status ?? 503) !== 503;

const publishAt = (topology: ComposeTopology, body: object, headers: Record<string, string> = {}) =>
  fetch(`${topology.insideUrl}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}`, ...headers },
    body: JSON.stringify(body),
  });

/** A key of an ordinary service does not become the deploy service by naming itself so. */
async function expectConsoleNamesClosed(topology: ComposeTopology): Promise<void> {
  const message = { targetType: "channel", target: "private-project-1", data: "x" };
  const claimed = await publishAt(topology, message, { "x-slipway-service": "deploy" });
  expect([claimed.status, await claimed.json()]).toMatchObject([403, { code: 40303 }]);
  const proven = await publishAt(topology, message, { authorization: `Bearer ${deployKey}` });
  expect(proven.status).toBe(200);
}

describe.if(haproxy !== undefined && queueUrl !== undefined && postgresUrl !== undefined)(
  "the topology of deploy/compose-cluster.yaml",
  () => {
    let topology: ComposeTopology | undefined;
    afterAll(() => topology?.stop());

    test("serves users outside and services inside, and keeps all users while an instance is restarted", async () => {
      topology = new ComposeTopology(await readCompose("compose-cluster.yaml"), {
        ...variables,
        POSTGRES_PASSWORD: "unused",
        BASE_URL: "https://deploy.example.com",
        ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
        ADMIN_PASSWORD: adminPassword,
      });
      const { publicUrl, insideUrl } = topology;
      const database = await makePostgres(postgresUrl ?? "");
      await topology.start("deploy", { SLIPWAY_DATABASE_URL: database.url });
      const settings = gatewaySettings("topology");
      await Promise.all([topology.start("push-1", settings), topology.start("push-2", settings)]);
      topology.startBalancer(haproxy ?? "");
      await eventually(
        "the balancer serves",
        async () =>
          (await serves(`${publicUrl}/ws`)) &&
          (await serves(`${publicUrl}/`)) &&
          serves(`${insideUrl}/feign/x`),
      );
      for (const path of insidePaths)
        expect([path, (await fetch(publicUrl + path)).status]).toEqual([path, 404]);
      const admin = await signInAt(publicUrl, "admin", adminPassword);
      const open = async (userId: string) => {
        const { code } = await admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId });
        return PushClient.open(`${publicUrl.replace("http", "ws")}/ws?code=${encodeURIComponent(code)}`);
      };
      const topologyOfTest = topology;
      const publish = (target: string, data: string, key = apiKey) =>
        publishAt(topologyOfTest, { targetType: "user", target, data }, { authorization: `Bearer ${key}` });
      expect((await publish("anna", "x", "wrong")).status).toBe(401);
      expect((await fetch(`${insideUrl}/metrics`)).status).toBe(404);
      await expectConsoleNamesClosed(topology);

      const clients = await Promise.all(["anna", "bert", "carl", "dora"].map(open));
      for (const name of ["anna", "bert", "carl", "dora"])
        expect((await publish(name, `to ${name}`)).status).toBe(200);
      for (const client of clients) await client.received(1);

      // A rolling restart: the instance is not ready but still serves, so that it gets no new connections.
      const answer = await fetch(`${topology.urlOf("push-1")}/feign/getOnlineUsers`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const { data: onFirst } = (await answer.json()) as { data: string[] };
      const restarted = topology.child(onFirst.length > 0 ? "push-1" : "push-2");
      restarted?.kill("SIGTERM");
      await eventually("the balancer has left it", async () => {
        const answer = await publish("anna", "still here");
        return answer.status === 200 && clients.some((client) => client.closed?.code === 1012);
      });
      const moved = await Promise.all(["erik", "fred"].map(open));
      await restarted?.exited;
      expect((await publish("erik", "to erik")).status).toBe(200);
      expect(await moved[0]?.received(1)).toEqual(["to erik"]);
      for (const client of [...clients, ...moved]) client.close();
      // A connection is logged when it ends.
      const log = () => topologyOfTest.balancerLog();
      await eventually("the balancer logs connections", async () =>
        (await log()).includes('"GET /ws HTTP/1.1"'),
      );
      expect(await log()).not.toContain("slpc_");
      await database.remove();
    });
  },
);

describe.if(haproxy !== undefined && queueUrl !== undefined)(
  "the topology of deploy/compose-push.yaml",
  () => {
    const verify = startVerifyService();
    let topology: ComposeTopology | undefined;
    afterAll(async () => {
      await topology?.stop();
      await verify.stop();
    });

    test("serves users outside and services inside, and nothing else", async () => {
      topology = new ComposeTopology(await readCompose("compose-push.yaml"), {
        ...variables,
        VERIFY_URI: verify.url,
      });
      const { publicUrl, insideUrl } = topology;
      const settings = gatewaySettings("topology-push");
      await Promise.all([topology.start("push-1", settings), topology.start("push-2", settings)]);
      topology.startBalancer(haproxy ?? "");
      await eventually(
        "the balancer serves",
        async () => (await serves(`${publicUrl}/ws`)) && serves(`${insideUrl}/feign/x`),
      );
      for (const path of [...insidePaths, "/", "/api/projects"])
        expect([path, (await fetch(publicUrl + path)).status]).toEqual([path, 404]);
      await expectConsoleNamesClosed(topology);

      const client = await PushClient.open(`${publicUrl.replace("http", "ws")}/ws?code=anna`);
      const message = { targetType: "user", target: "anna", data: "to anna" };
      expect((await publishAt(topology, message, { authorization: "Bearer wrong" })).status).toBe(401);
      expect((await publishAt(topology, message)).status).toBe(200);
      expect(await client.received(1)).toEqual(["to anna"]);
      const stream = await StreamClient.open(`${publicUrl}/sse?code=cleo`);
      await stream.receivedType("welcome");
      // The balancer chooses any instance for a frame.
      for (const channel of ["one", "two", "three"]) stream.send(JSON.stringify({ type: "join", channel }));
      await stream.receivedType("joined", 3);
      await publishAt(topology, { targetType: "channel", target: "three", data: "to three" });
      await stream.receivedType("message");
      stream.close();
      const elsewhere = await fetch(`${publicUrl}/ws?code=bert`, {
        headers: {
          origin: "https://evil.example",
          upgrade: "websocket",
          connection: "Upgrade",
          "sec-websocket-version": "13",
          "sec-websocket-key": Buffer.alloc(16).toString("base64"),
        },
      });
      expect(elsewhere.status).toBe(403);
      client.close();
    });
  },
);

describe("the topology of deploy/compose.yaml", () => {
  let topology: ComposeTopology | undefined;
  afterAll(() => topology?.stop());

  test("is one server, whose own runner deploys the sample", async () => {
    topology = new ComposeTopology(await readCompose("compose.yaml"), {});
    const quickly = { SLIPWAY_PUSH_DRAIN_DELAY: "0s", SLIPWAY_PUSH_DRAIN_PERIOD: "0s" };
    await topology.start("slipway", { SLIPWAY_ADMIN_PASSWORD: adminPassword, ...quickly });
    const admin = await signInAt(topology.urlOf("slipway"), "admin", adminPassword);
    const { taskId } = await admin.expect<{ taskId: number }>(201, "POST", "/api/samples");
    const task = () => admin.expect<{ state: string }>(200, "GET", `/api/tasks/${taskId}`);
    await eventually("the sample is deployed", async () => (await task()).state === "success", 90_000);
    // Its runner ends with it.
    topology.child("slipway")?.kill("SIGTERM");
    expect(await topology.child("slipway")?.exited).toBe(0);
  });
});
