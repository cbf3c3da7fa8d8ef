import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signInAt } from "../support/api-server.ts";
import { deployFolder, environmentOf, readCompose } from "../support/compose.ts";
import { makePostgres } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { PushClient } from "../support/push-client.ts";
import { installPackages } from "../support/service-install.ts";
import { serviceUrl } from "../support/services.ts";

const haproxy = Bun.which("haproxy") ?? ((await installPackages("haproxy")) ? Bun.which("haproxy") : null);
const queueUrl = await serviceUrl("amqp");
const postgresUrl = await serviceUrl("postgres");

const apiKey = "the api key of this topology";
const adminPassword = "the password of this topology";
const folder = mkdtempSync(join(tmpdir(), "slipway-topology-"));
const balancerLog = join(folder, "balancer.log");
const children = new Map<string, Bun.Subprocess>();

afterAll(async () => {
  for (const child of children.values()) child.kill("SIGKILL");
  await Promise.all([...children.values()].map((child) => child.exited));
  rmSync(folder, { recursive: true, force: true });
});

/** The topology of deploy/compose.yaml as processes: its settings and its load balancer, with other addresses. */
async function startTopology() {
  const compose = await readCompose();
  const variables = {
    QUEUE_URL: queueUrl ?? "",
    PUSH_API_KEY: apiKey,
    POSTGRES_PASSWORD: "unused",
    BASE_URL: "https://deploy.example.com",
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    ADMIN_PASSWORD: adminPassword,
  };
  const names = ["push-1:8080", "push-2:8080", "deploy:8080", "balancer:8081", "balancer:8080"];
  const addresses = new Map<string, string>();
  for (const name of names) addresses.set(name, `127.0.0.1:${freePort()}`);
  const addressOf = (name: string) => addresses.get(name) ?? "";
  const elsewhere = (environment: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) => {
        let moved = value;
        for (const [from, to] of addresses) moved = moved.replaceAll(from, to);
        return [name, moved];
      }),
    );

  const start = async (service: string, more: Record<string, string>) => {
    const { command = [] } = compose.services[service] ?? {};
    const environment = {
      ...elsewhere(environmentOf(compose.services[service], variables)),
      SLIPWAY_SERVER_LISTEN: addressOf(`${service}:8080`),
      SLIPWAY_DATA_DIR: join(folder, service),
      ...more,
    };
    children.set(
      service,
      Bun.spawn([process.execPath, main, ...command], {
        env: { PATH: process.env.PATH, HOME: folder, ...environment },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      }),
    );
    await eventually(
      `${service} is ready`,
      async () =>
        (await fetch(`http://${addressOf(`${service}:8080`)}/readyz`).catch(() => null))?.status === 200,
    );
  };
  const database = await makePostgres(postgresUrl ?? "");
  await start("deploy", { SLIPWAY_DATABASE_URL: database.url });
  const prefix = {
    SLIPWAY_PUSH_QUEUE_PREFIX: `topology-${process.pid}`,
    SLIPWAY_PUSH_DRAIN_DELAY: "8s",
    SLIPWAY_PUSH_DRAIN_PERIOD: "1s",
  };
  await Promise.all([start("push-1", prefix), start("push-2", prefix)]);
  const balancerSettings = {
    ...elsewhere(environmentOf(compose.services.balancer, variables)),
    PUBLIC_BIND: addressOf("balancer:8080"),
    INSIDE_BIND: addressOf("balancer:8081"),
  };
  children.set(
    "balancer",
    Bun.spawn([haproxy ?? "", "-db", "-f", join(deployFolder, "haproxy.cfg")], {
      env: { PATH: process.env.PATH, ...balancerSettings },
      stdin: "ignore",
      stdout: Bun.file(balancerLog),
      stderr: "ignore",
    }),
  );
  const publicUrl = `http://${addressOf("balancer:8080")}`;
  const insideUrl = `http://${addressOf("balancer:8081")}`;
  // A load balancer that has not checked its servers yet returns its own errors.
  const serves = async (url: string) => ((await fetch(url).catch(() => null))?.status ?? 503) !== 503;
  await eventually(
    "the balancer serves",
    async () =>
      (await serves(`${publicUrl}/ws`)) && (await serves(`${publicUrl}/`)) && serves(`${insideUrl}/feign/x`),
  );
  const onlineOn = async (service: string) => {
    const answer = await fetch(`http://${addressOf(`${service}:8080`)}/feign/getOnlineUsers`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return ((await answer.json()) as { data: string[] }).data.length;
  };
  return { publicUrl, insideUrl, onlineOn, database };
}

describe.if(haproxy !== null && queueUrl !== undefined && postgresUrl !== undefined)(
  "the topology of deploy/compose.yaml",
  () => {
    test("serves users outside and services inside, and keeps all users while an instance is restarted", async () => {
      const { publicUrl, insideUrl, onlineOn, database } = await startTopology();
      for (const path of [
        "/feign/publish",
        "/feign/getOnlineUsers",
        "/metrics",
        "/readyz",
        "//feign/publish",
        "/%66eign/publish",
      ])
        expect([path, (await fetch(publicUrl + path)).status]).toEqual([path, 404]);
      const admin = await signInAt(publicUrl, "admin", adminPassword);
      const open = async (userId: string) => {
        const { code } = await admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId });
        return PushClient.open(`${publicUrl.replace("http", "ws")}/ws?code=${encodeURIComponent(code)}`);
      };
      const publish = (target: string, data: string, key = apiKey) =>
        fetch(`${insideUrl}/feign/publish`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
          body: JSON.stringify({ targetType: "user", target, data }),
        });
      expect((await publish("anna", "x", "wrong")).status).toBe(401);
      expect((await fetch(`${insideUrl}/metrics`)).status).toBe(404);

      const clients = await Promise.all(["anna", "bert", "carl", "dora"].map(open));
      for (const name of ["anna", "bert", "carl", "dora"])
        expect((await publish(name, `to ${name}`)).status).toBe(200);
      for (const client of clients) await client.received(1);

      // A rolling restart: the instance is not ready but still serves, so that it gets no new connections.
      const restarted = children.get((await onlineOn("push-1")) > 0 ? "push-1" : "push-2");
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
      const log = () => Bun.file(balancerLog).text();
      await eventually("the balancer logs connections", async () =>
        (await log()).includes('"GET /ws HTTP/1.1"'),
      );
      expect(await log()).not.toContain("slpc_");
      await database.remove();
    });
  },
);
