import { afterEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportSPKI } from "jose";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { PushClient } from "../support/push-client.ts";
import { type PushProcess, startPushProcess } from "../support/push-process.ts";
import { startServerProcess } from "../support/server-process.ts";
import { jwtSecret, newKeyPair, signedCode } from "../support/signed-code.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("keys");
const file = join(folder, "slipway.yaml");
const newSecret = "another secret of the shop that is long enough";
let push: PushProcess | undefined;

afterEach(async () => {
  await push?.stop();
  push = undefined;
});

interface Keys {
  apiKeys?: string[];
  secrets?: string[];
  more?: Record<string, unknown>;
}

function write({ apiKeys = ["old-key"], secrets = [jwtSecret], more = {} }: Keys): void {
  writeFileSync(file, JSON.stringify({ "push.api-keys": apiKeys, "push.jwt.secrets": secrets, ...more }));
}

async function start(settings: Record<string, string> = {}): Promise<PushProcess> {
  push = await startPushProcess("keys", { config: file, ...settings });
  return push;
}

/** The log lines about SIGHUP. */
const answers = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.includes("SIGHUP"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function hangUp({ pid, output }: Pick<PushProcess, "pid" | "output">) {
  const before = answers(output()).length;
  process.kill(pid, "SIGHUP");
  await eventually("it has read the keys", () => answers(output()).length > before);
  return answers(output()).at(-1);
}

async function statusOf(url: string, apiKey: string): Promise<number> {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const body = JSON.stringify({ targetType: "all", data: "x" });
  return (await fetch(`${url}/feign/publish`, { method: "POST", headers, body, keepalive: false })).status;
}

async function admits(url: string, code: string): Promise<boolean> {
  const opening = PushClient.open(`${url.replace("http", "ws")}/ws?code=${code}`);
  return opening.then(
    (client) => {
      client.close();
      return true;
    },
    () => false,
  );
}

const signedWith = (secret: string) => signedCode({ sub: "42" }, Buffer.from(secret));

describe.each([
  ["one process", {}],
  ["several workers", { "push-workers": "2" }],
])("SIGHUP to a gateway of %s", (_, settings) => {
  test("replaces the keys of callers and of JWTs, keeps connections, and names what needs a restart", async () => {
    write({});
    const gateway = await start(settings);
    const client = await PushClient.open(
      `${gateway.url.replace("http", "ws")}/ws?code=${await signedWith(jwtSecret)}`,
    );
    write({ apiKeys: ["new-key", "third-key"], secrets: [newSecret], more: { "push.max-connections": 77 } });
    expect(await hangUp(gateway)).toMatchObject({
      changes: ["push.api-keys: 2 added, 1 removed", "push.jwt.secrets: 1 added, 1 removed"],
      needRestart: ["push.max-connections"],
    });
    // Several, so that every worker is asked.
    const tries = Array.from({ length: 20 }, (_each, index) => index);
    await eventually("every process has the new keys", async () => {
      const statuses = await Promise.all(tries.map(() => statusOf(gateway.url, "new-key")));
      return statuses.every((status) => status === 200);
    });
    for (const _try of tries) {
      expect(await statusOf(gateway.url, "old-key")).toBe(401);
      expect(await admits(gateway.url, await signedWith(newSecret))).toBe(true);
      expect(await admits(gateway.url, await signedWith(jwtSecret))).toBe(false);
    }
    expect(client.closed).toBe(null);
    client.close();
  });
});

describe("SIGHUP to a gateway", () => {
  test("reads the public keys of push.jwt.key-file again", async () => {
    const [before, after] = [await newKeyPair("ES256"), await newKeyPair("ES256")];
    const keyFile = join(folder, "keys.pem");
    writeFileSync(keyFile, await exportSPKI(before.publicKey));
    write({ secrets: [], more: { "push.jwt.key-file": keyFile } });
    const gateway = await start();
    const signed = (key: CryptoKey) => signedCode({ sub: "42" }, key, { alg: "ES256" });
    writeFileSync(keyFile, await exportSPKI(after.publicKey));
    expect(await admits(gateway.url, await signed(after.privateKey))).toBe(false);
    expect(await hangUp(gateway)).toMatchObject({ changes: ["push.jwt.key-file: read again"] });
    expect(await admits(gateway.url, await signed(after.privateKey))).toBe(true);
    expect(await admits(gateway.url, await signed(before.privateKey))).toBe(false);
    rmSync(keyFile);
    expect(await hangUp(gateway)).toMatchObject({ level: "error", reason: expect.stringContaining(keyFile) });
    expect(await admits(gateway.url, await signed(after.privateKey))).toBe(true);
  });

  test("keeps the keys if the file is invalid, and never removes the last one", async () => {
    write({});
    const gateway = await start();
    writeFileSync(file, "push: [\n");
    expect(await hangUp(gateway)).toMatchObject({ level: "error", reason: expect.stringContaining(file) });
    write({ apiKeys: [], secrets: [] });
    expect(await hangUp(gateway)).toMatchObject({
      changes: [],
      needRestart: ["push.jwt.secrets", "push.api-keys"],
    });
    expect(await statusOf(gateway.url, "old-key")).toBe(200);
    expect(await admits(gateway.url, await signedWith(jwtSecret))).toBe(true);
  });

  test("of `start` replaces the keys too", async () => {
    write({});
    const server = await startServerProcess(temporaryFolder("server"), { config: file });
    try {
      write({ apiKeys: ["new-key"] });
      expect(await hangUp(server)).toMatchObject({ changes: ["push.api-keys: 1 added, 1 removed"] });
      expect(await statusOf(server.url, "new-key")).toBe(200);
      expect(await statusOf(server.url, "old-key")).toBe(401);
    } finally {
      expect(await server.end("SIGTERM")).toBe(0);
    }
  });
});

test("SIGHUP does not end a deploy service, which has no such keys", async () => {
  const listen = `127.0.0.1:${freePort()}`;
  const flags = ["--server-listen", listen, "--data-dir", temporaryFolder("deploy"), "--log-format", "json"];
  const child = Bun.spawn([process.execPath, main, "deploy", ...flags, "--runner-enabled", "false"], {
    stdout: "pipe",
    stderr: "ignore",
  });
  let output = "";
  void (async () => {
    for await (const chunk of child.stdout) output += Buffer.from(chunk);
  })();
  const isReady = () =>
    fetch(`http://${listen}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually("it is ready", isReady);
  expect(await hangUp({ pid: child.pid, output: () => output })).toMatchObject({ changes: [] });
  expect(await isReady()).toBe(true);
  child.kill();
  expect(await child.exited).toBe(0);
});

test("a server whose terminal is closed drains and ends", async () => {
  const listen = `127.0.0.1:${freePort()}`;
  const flags = ["--server-listen", listen, "--data-dir", temporaryFolder("terminal")];
  const quick = ["--push-drain-delay", "0s", "--push-drain-period", "0s", "--runner-enabled", "false"];
  const child = Bun.spawn([process.execPath, main, "start", ...flags, ...quick], {
    terminal: { cols: 80, rows: 24 },
  });
  await eventually("it is ready", () =>
    fetch(`http://${listen}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  child.terminal?.close();
  expect(await child.exited).toBe(0);
});
