import { afterEach, expect, test } from "bun:test";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { startVerifyService, type VerifyService } from "../support/verify-service.ts";

let gateway: PushApp | undefined;
let verify: VerifyService | undefined;
afterEach(async () => {
  await gateway?.stop();
  await verify?.stop();
});

test.each(["GET", "POST"] as const)(
  "a code never leads %s of verify-uri to another address of the service",
  async (method) => {
    const service = startVerifyService();
    verify = service;
    service.answer = () => Response.json("somebody");
    gateway = await startPushApp({
      "push.verify-uri": `${service.url}/codes/{code}`,
      "push.verify-method": method,
    });
    const { wsUrl } = gateway;
    for (const code of ["..", ".", "%2e%2e", "%2E"])
      await expect(PushClient.open(`${wsUrl}?code=${code}`)).rejects.toThrow("refused");
    for (const code of [
      "../..",
      "a/../../..",
      "%2e%2e%2f%2e%2e",
      "..%5c..",
      "%252e%252e",
      "...",
      "?a",
      "%23",
    ])
      (await PushClient.open(`${wsUrl}?code=${code}`)).close();
    const paths = service.requests.map(({ url }) => url.pathname);
    expect(paths).toHaveLength(8);
    for (const path of paths) expect(path).toMatch(/^\/verify\/codes\/[^/]+$/);
  },
);
