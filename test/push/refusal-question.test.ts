import { afterEach, describe, expect, test } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

let started: PushApp | null = null;

async function start(settings: Partial<Config> = {}): Promise<PushApp> {
  started = await startPushApp(settings);
  return started;
}

afterEach(async () => {
  await started?.stop();
  started = null;
});

describe("a plain request to the address of WebSockets", () => {
  const ask = async ({ url }: PushApp) => {
    const answer = await fetch(`${url}/ws`, { method: "POST" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([426, "*"]);
    return answer.headers.get("x-push-refusal");
  };

  test("learns that an upgrade would be refused now because the gateway is full", async () => {
    const app = await start({ "push.max-connections": 1 });
    expect(await ask(app)).toBeNull();
    const client = await PushClient.open(`${app.wsUrl}?code=ann`);
    expect(await ask(app)).toBe("50302");
    client.close();
    await eventually("the place is free", async () => (await app.metric("slipway_push_places_taken")) === 0);
    expect(await ask(app)).toBeNull();
  });

  test("learns that an upgrade would be refused now because of the connect rate", async () => {
    const app = await start({ "push.connect-rate": 1 });
    await eventually("the attempt and the question are in the same second", async () => {
      await fetch(`${app.url}/sse`);
      return (await ask(app)) === "42901";
    });
    await eventually("the second is over", async () => (await ask(app)) === null);
  });

  test("learns that an upgrade would be refused now because codes cannot be verified", async () => {
    const app = await start();
    app.verify.answer = () => new Response("", { status: 503 });
    await fetch(`${app.url}/sse?code=ann`);
    expect(await ask(app)).toBe("50304");
    app.verify.answer = (code) => Response.json(code);
    (await PushClient.open(`${app.wsUrl}?code=ann`)).close();
    expect(await ask(app)).toBeNull();
  });
});
