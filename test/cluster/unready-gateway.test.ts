import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../support/certificate.ts";
import { readCompose } from "../support/compose.ts";
import { ComposeTopology } from "../support/compose-topology.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type ProxyWithLogs, startShippedClusterNginx } from "../support/reverse-proxies.ts";
import { serviceUrl } from "../support/services.ts";

const [haproxy, nginx, queueUrl] = [
  await serviceUrl("haproxy"),
  await serviceUrl("nginx"),
  await serviceUrl("amqp"),
];
const apiKey = "the key of the service that publishes";
const attempts = 12;

describe.if(haproxy !== undefined && nginx !== undefined && queueUrl !== undefined)(
  "of two gateways, one that has not reached its queue,",
  () => {
    let topology: ComposeTopology;
    let proxy: ProxyWithLogs | undefined;
    const insidePort = freePort();
    beforeAll(async () => {
      topology = new ComposeTopology(await readCompose("compose-push.yaml"), {
        QUEUE_URL: queueUrl ?? "",
        VERIFY_URI: "http://127.0.0.1:1/verify",
        PUSH_API_KEY: apiKey,
        DEPLOY_KEY: "another key",
        ALLOWED_ORIGINS: "*",
      });
      const settings = { SLIPWAY_PUSH_QUEUE_PREFIX: `unready-${process.pid}` };
      await Promise.all([
        topology.start("push-1", settings),
        topology.startUnready("push-2", { ...settings, SLIPWAY_PUSH_QUEUE_URL: "amqp://127.0.0.1:1" }),
      ]);
      topology.startBalancer(haproxy ?? "");
      const [ready, unready] = ["push-1", "push-2"].map((name) => new URL(topology.urlOf(name)).host);
      proxy = await startShippedClusterNginx(
        {
          executable: nginx ?? "",
          gateways: [unready ?? "", ready ?? "", unready ?? ""],
          deploy: "127.0.0.1:1",
          port: freePort(),
          insidePort,
        },
        await makeCertificate(),
      );
    });
    afterAll(async () => {
      await proxy?.stop();
      await topology.stop();
    });

    const publish = (url: string, headers: Record<string, string> = {}) =>
      fetch(`${url}/feign/publish`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": apiKey, ...headers },
        body: JSON.stringify({ targetType: "all", target: "", data: "to all" }),
      });
    const statusesOf = async (call: (attempt: number) => Promise<Response>) => {
      const statuses = new Set<number>();
      for (let attempt = 0; attempt < attempts; attempt++) statuses.add((await call(attempt)).status);
      return [...statuses].sort();
    };

    test("refuses publishes, which its balancer must not show to callers", async () => {
      const refused = await publish(topology.urlOf("push-2"));
      expect([refused.status, await refused.json()]).toMatchObject([503, { code: 50301 }]);
    });

    test("gets no publishes from HAProxy while another one is ready", async () => {
      const calls = () => statusesOf(() => publish(topology.insideUrl));
      await eventually("the balancer has left it", async () => {
        const statuses = await calls().catch(() => []);
        return statuses.length === 1 && statuses[0] === 200;
      });
      expect(await calls()).toEqual([200]);
    });

    test("is passed over by nginx for reads, and for publishes that count once", async () => {
      const url = `http://127.0.0.1:${insidePort}`;
      const read = () => fetch(`${url}/feign/getOnlineUsers`, { headers: { "x-api-key": apiKey } });
      expect(await statusesOf(read)).toEqual([200]);
      const keyed = (attempt: number) => publish(url, { "idempotency-key": `publish ${attempt}` });
      expect(await statusesOf(keyed)).toEqual([200]);
      // Without a key nginx cannot know whether a publish that was answered 503 was stored.
      expect(await statusesOf(() => publish(url))).toEqual([200, 503]);
    });

    test("answers publishes behind HAProxy when no other is left", async () => {
      topology.child("push-1")?.kill("SIGKILL");
      await eventually("its own answer arrives", async () => {
        const answer = await publish(topology.insideUrl).catch(() => null);
        return answer?.status === 503 && (await answer.text()).includes("50301");
      });
    });
  },
);
