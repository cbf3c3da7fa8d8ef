import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { pick } from "../support/length.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { type ProxyWithLogs, startShippedClusterNginx } from "../support/reverse-proxies.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService, type VerifyService } from "../support/verify-service.ts";
import { WatchedClients } from "../support/watched-clients.ts";

const nginx = await serviceUrl("nginx");
const queueUrl = await serviceUrl("amqp");

const clientCount = pick(200, 2000);
const longestGapMs = 2000;
const publishEveryMs = pick(100, 500);
const apiKey = "the key of the service that publishes";

describe.skipIf(!nginx || !queueUrl)(
  "three gateways behind nginx with the cluster example of deploy/",
  () => {
    const port = freePort();
    const insidePort = freePort();
    const clients = new WatchedClients();
    const gateways: PushProcess[] = [];
    const usedCodes = new Set<string>();
    let verify: VerifyService;
    let proxy: ProxyWithLogs;
    let lastCode = 0;

    beforeAll(async () => {
      verify = startVerifyService();
      // A code is used up by its first verification, as in most services.
      verify.answer = (code) => {
        if (usedCodes.has(code)) return new Response("used", { status: 401 });
        usedCodes.add(code);
        return Response.json({ userId: code.split(".")[1] });
      };
      for (const name of ["roll-1", "roll-2", "roll-3"])
        gateways.push(
          await startPushProcess(name, {
            "push-verify-uri": verify.url,
            "push-cluster-enabled": "true",
            "push-queue-url": queueUrl ?? "",
            "push-queue-prefix": `rolling-${process.pid}`,
            "push-queue-instance-id": name,
            "push-api-keys": apiKey,
            "push-deploy-key": "none",
            "server-trusted-proxies": "127.0.0.1/32",
            "push-drain-delay": "1s",
            "push-drain-period": pick("2s", "10s"),
          }),
        );
      proxy = await startShippedClusterNginx(
        {
          executable: nginx ?? "",
          gateways: gateways.map(({ url }) => new URL(url).host),
          deploy: "127.0.0.1:1",
          port,
          insidePort,
        },
        await makeCertificate(),
      );
    });
    afterAll(async () => {
      clients.close();
      await proxy?.stop();
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await verify?.stop();
    });

    const publish = (data: string, path = "/feign/publish") =>
      fetch(`http://127.0.0.1:${insidePort}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": apiKey, "idempotency-key": data },
        body: JSON.stringify({ targetType: "all", target: "", data }),
      });

    test(
      "after a rolling restart all clients are back within 2 s each and miss nothing",
      async () => {
        clients.open(clientCount, `wss://localhost:${port}/ws`, (client) => `secret${++lastCode}.u${client}`);
        await eventually("all clients are connected", () => clients.opened === clientCount);

        let published = 0;
        let repeated = 0;
        let isRestarting = true;
        const publishing = (async () => {
          while (isRestarting) {
            // A gateway that has just started answers 503; with its key a publish can be repeated.
            if ((await publish(String(published))).status === 200) published++;
            else repeated++;
            // The rate of the publisher.
            await Bun.sleep(publishEveryMs);
          }
        })();
        for (const gateway of gateways) {
          await gateway.end("SIGTERM");
          await gateway.start();
        }
        isRestarting = false;
        await publishing;
        await eventually(
          "all clients are connected again",
          () => clients.opened === clientCount,
          30_000,
        ).catch(() => {});
        await eventually("every message arrived", () => clients.incomplete(published) === 0, 10_000).catch(
          () => {},
        );
        const gaps = clients.gapsMs.toSorted((a, b) => a - b);
        const figures = {
          offline: clientCount - clients.opened,
          incomplete: clients.incomplete(published),
          unrecovered: clients.unrecovered,
          gapsOver: gaps.filter((gap) => gap > longestGapMs).length,
        };
        console.log(
          JSON.stringify({
            ...figures,
            clients: clientCount,
            published,
            repeated,
            gaps: gaps.length,
            medianMs: gaps[gaps.length >> 1],
            longestMs: gaps.at(-1),
          }),
        );
        expect(figures).toEqual({ offline: 0, incomplete: 0, unrecovered: 0, gapsOver: 0 });
        expect(gaps.length).toBeGreaterThanOrEqual(clientCount);
      },
      pick(120_000, 300_000),
    );

    test("no code is in a log of nginx", async () => {
      const logs = await proxy.logs();
      expect(logs).toContain('"GET /ws HTTP/1.1" 101');
      expect(logs).not.toContain("secret");
    });

    test("other services reach /feign inside and nothing else there, and nothing of it outside", async () => {
      expect((await publish("x", "/metrics")).status).toBe(404);
      const outside = await fetch(`https://localhost:${port}/feign/publish`, {
        method: "POST",
        tls: { rejectUnauthorized: false },
      });
      expect(outside.status).toBe(404);
    });
  },
);
