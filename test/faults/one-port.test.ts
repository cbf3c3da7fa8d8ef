import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { RawSocket } from "../support/raw-socket.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("port");

/** Each role on its own data, so that only the port is in common. */
const roles = {
  start: { SLIPWAY_RUNNER_ENABLED: "false" },
  push: { SLIPWAY_PUSH_VERIFY_URI: "http://127.0.0.1:9/verify" },
  deploy: {},
};
type Role = keyof typeof roles;
const roleNames = Object.keys(roles) as Role[];

const envOf = (role: Role, which: string) => ({
  ...roles[role],
  SLIPWAY_DATA_DIR: join(folder, `${role}-${which}`),
  SLIPWAY_PUSH_DRAIN_DELAY: "0s",
  SLIPWAY_PUSH_DRAIN_PERIOD: "0s",
});

let first: Bun.Subprocess | undefined;
afterEach(async () => {
  first?.kill("SIGKILL");
  await first?.exited;
});

/** A server that started does not end: the second one is killed after a while. */
function spawn(role: Role, which: string, listen: string, timeoutMs?: number) {
  return Bun.spawn([process.execPath, main, role, "--server-listen", listen], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, ...envOf(role, which) },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs, killSignal: "SIGKILL" }),
  });
}

async function startFirst(role: Role, listen: string, url: string): Promise<void> {
  first = spawn(role, "first", listen);
  const isReady = async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
  await eventually(`the first ${role} is ready`, isReady);
}

async function startSecond(role: Role, listen: string): Promise<{ exitCode: number | null; stderr: string }> {
  const second = spawn(role, "second", listen, 50_000);
  const stderr = await new Response(second.stderr).text();
  await second.exited;
  return { exitCode: second.exitCode, stderr };
}

describe("of two servers on one port the second ends with an error that says what to do", () => {
  const pairs = roleNames.flatMap((one) => roleNames.map((other) => [one, other] as const));
  test.each(pairs)("%s, then %s", async (one, other) => {
    const listen = `127.0.0.1:${freePort()}`;
    await startFirst(one, listen, `http://${listen}`);
    expect(await startSecond(other, listen)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^Another program listens on 127\.0\.0\.1:\d+\. .*PORT=\d+.*server\.listen/m,
      ),
    });
    expect((await fetch(`http://${listen}/readyz`)).status).toBe(200);
  });

  test("also if one of them listens on every address", async () => {
    const port = freePort();
    await startFirst("push", `0.0.0.0:${port}`, `http://127.0.0.1:${port}`);
    expect(await startSecond("push", `127.0.0.1:${port}`)).toMatchObject({ exitCode: 1 });
  });
});

test("a server that was killed with open connections can start again on its port at once", async () => {
  const listen = `127.0.0.1:${freePort()}`;
  await startFirst("push", listen, `http://${listen}`);
  const client = new RawSocket(Number(listen.split(":")[1]));
  client.request("GET", "/livez", {});
  expect((await client.answer()).status).toBe(200);
  first?.kill("SIGKILL");
  await first?.exited;
  await startFirst("push", listen, `http://${listen}`);
  client.end();
  expect((await fetch(`http://${listen}/livez`)).status).toBe(200);
});
