import { afterEach, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { RawSocket } from "../support/raw-socket.ts";
import { newKeyPair, signedCode } from "../support/signed-code.ts";
import { startVerifyService } from "../support/verify-service.ts";

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Line {
  msg: string;
  [field: string]: unknown;
}

async function startGateway(
  level: string,
  flags: Record<string, string> = {},
): Promise<{ gateway: PushProcess; lines(): Line[] }> {
  const verify = startVerifyService();
  stops.push(() => verify.stop());
  verify.answer = (code) =>
    code.startsWith("bad") ? new Response("no", { status: 401 }) : Response.json({ userId: "anna" });
  const gateway = await startPushProcess("talks", {
    ...{ "push-verify-uri": verify.url, "log-level": level },
    ...flags,
  });
  stops.push(() => gateway.stop());
  const lines = () =>
    gateway
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Line);
  return { gateway, lines };
}

async function use({ url }: PushProcess): Promise<string> {
  const wsUrl = `${url.replace("http", "ws")}/ws`;
  const client = await PushClient.open(`${wsUrl}?code=good-secret-code&channel=news`, ["slipway.v1"]);
  await expect(PushClient.open(`${wsUrl}?code=bad-secret-code`)).rejects.toThrow("refused");
  const body = JSON.stringify({ targetType: "user", target: "anna", data: "private text" });
  const headers = { "content-type": "application/json", "idempotency-key": "k" };
  const publish = () => fetch(`${url}/feign/publish`, { method: "POST", headers, body });
  const published = await publish();
  await publish();
  await fetch(`${url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  client.close();
  await client.ended();
  return published.headers.get("x-push-id") ?? "";
}

test("log.level debug logs connects, closes, refused codes and publishes, and never a code or data", async () => {
  const { gateway, lines } = await startGateway("debug");
  const id = await use(gateway);
  await eventually("the close is logged", () => lines().some(({ msg }) => msg === "connection closed"));
  const of = (text: string) => lines().filter(({ msg }) => msg === text);
  const [opened] = of("connection opened");
  expect(opened).toMatchObject({
    level: "debug",
    userId: "anna",
    kind: "normal",
    protocol: "slipway.v1",
    channels: ["news"],
    peer: "127.0.0.1",
  });
  expect(of("connection refused")).toMatchObject([{ reason: "rejected", status: 401, address: "127.0.0.1" }]);
  expect(of("published")).toMatchObject([
    { id, targetType: "user", target: "anna", receivers: 1, bytes: 12 },
    { targetType: "user" },
  ]);
  expect(of("publish repeated")).toMatchObject([{ id }]);
  expect(of("connection closed")).toMatchObject([
    { connectionId: opened?.connectionId, userId: "anna", closeCode: expect.any(Number) },
  ]);
  expect(gateway.output()).not.toContain("secret-code");
  expect(gateway.output()).not.toContain("private text");
});

test("log.level info logs none of them", async () => {
  const { gateway, lines } = await startGateway("info");
  await use(gateway);
  expect(lines().filter(({ msg }) => /^(connection|publish)/.test(msg))).toEqual([]);
});

test("a refused publish is logged with its failure code", async () => {
  const { gateway, lines } = await startGateway("info");
  const headers = { "content-type": "application/json" };
  await fetch(`${gateway.url}/feign/publish`, { method: "POST", headers, body: '{"targetType":"nobody"}' });
  const refused = () => lines().find(({ msg }) => msg === "publish refused");
  await eventually("it is logged", () => refused() !== undefined);
  expect(refused()).toMatchObject({ level: "info", failureCode: 40002 });
});

test("callers that disconnect before their body is whole cause no error", async () => {
  const { gateway, lines } = await startGateway("info");
  const { port } = new URL(gateway.url);
  const paths = ["/feign/publish", "/feign/publishBatch", "/feign/disconnect", "/sse?stream=a.b"];
  for (const path of paths)
    for (const length of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
      const socket = new RawSocket(Number(port));
      const head = `Host: 127.0.0.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n${length}`;
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
      await eventually("the body is waited for", () => socket.hasAnswer);
      socket.write("5\r\n{");
      socket.end();
      await socket.ended();
    }
  const headers = { "content-type": "application/json" };
  await fetch(`${gateway.url}/feign/publish`, { method: "POST", headers, body: '{"targetType":"last"}' });
  await eventually("the last one is logged", () => lines().some(({ msg }) => msg === "publish refused"));
  expect(lines().filter(({ level }) => level === "error")).toEqual([]);
});

test("keys of push.jwt.jwks-url that cannot be read are logged with the reason", async () => {
  const answers = {
    "it answered 302": () => Response.redirect("/elsewhere"),
    "it answered 404": () => new Response("", { status: 404 }),
    "it is not JSON": () => new Response("<html>"),
    "no key is for RS256, ES256 or EdDSA": () => Response.json({ keys: [] }),
  };
  for (const [reason, answer] of Object.entries(answers)) {
    const keys = Bun.serve({ port: 0, fetch: answer });
    stops.push(() => keys.stop(true));
    const flags = { "push-jwt-jwks-url": `http://127.0.0.1:${keys.port}/keys` };
    const { gateway, lines } = await startGateway("info", flags);
    const code = await signedCode({ sub: "42" }, (await newKeyPair("ES256")).privateKey, { alg: "ES256" });
    expect((await fetch(`${gateway.url}/sse?code=${code}`)).status).toBe(503);
    const logged = () => lines().find(({ msg }) => msg.startsWith("push.jwt.jwks-url could not be read"));
    await eventually("it is logged", () => logged() !== undefined);
    expect(logged()).toMatchObject({ level: "warn", reason });
  }
});
