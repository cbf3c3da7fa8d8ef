import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const dataDir = temporaryFolder("first");

test("a first start with its port in use says what to do, and the next start still prints the password", async () => {
  // The other program allows sharing its port, as the runtime does by default in production.
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: true,
    fetch: () => new Response("another program"),
  });
  const slipway = buildCli({ SLIPWAY_DATA_DIR: dataDir, SLIPWAY_RUNNER_ENABLED: "false" });
  const refused = await slipway(["start", "--server-listen", `127.0.0.1:${other.port}`]);
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/Another program listens on 127\.0\.0\.1:\d+\. .*PORT=\d+.*server\.listen/),
  ]);
  await other.stop(true);

  const { SLIPWAY_ADMIN_PASSWORD: _, ...env } = process.env;
  const child = Bun.spawn([process.execPath, main, "start", "--server-listen", "127.0.0.1:0"], {
    env: { ...env, SLIPWAY_DATA_DIR: dataDir, SLIPWAY_RUNNER_ENABLED: "false" },
    stdout: "ignore",
    stderr: "pipe",
  });
  let said = "";
  void (async () => {
    for await (const chunk of child.stderr) said += Buffer.from(chunk).toString();
  })();
  await eventually("the start tells the password", () => /password \S{20} \(shown this once\)/.test(said));
  child.kill();
  await child.exited;
});

test("a start that cannot listen, write or read its settings names the address, the folder or the file and the way out", async () => {
  const file = join(dataDir, "a-file");
  writeFileSync(file, "");
  const slipway = buildCli({ SLIPWAY_DATA_DIR: dataDir, SLIPWAY_RUNNER_ENABLED: "false" });
  const listen = ["--server-listen", "127.0.0.1:0"];
  const cases: [args: string[], exitCode: number, message: RegExp][] = [
    [["--server-listen", "192.0.2.1:18080"], 1, /192\.0\.2\.1 is no address of this machine.*server\.listen/],
    [
      ["--server-listen", "nowhere.invalid:18080", "--data-dir", join(dataDir, "nowhere")],
      1,
      /nowhere\.invalid is no address of this machine/,
    ],
    [[...listen, "--data-dir", file], 1, new RegExp(`The folder ${file} cannot be used: .*data\\.dir`)],
    [[...listen, "--config", dataDir], 2, /is a folder; name the settings file/],
  ];
  const ended = await Promise.all(cases.map(([args]) => slipway(["start", ...args])));
  for (const [index, [, exitCode, message]] of cases.entries())
    expect(ended[index]).toMatchObject({ exitCode, stderr: expect.stringMatching(message) });
});

test("a first start is ready only when admin can sign in", async () => {
  const password = "chosen by the operator";
  const signIns: number[] = [];
  for (let start = 0; start < 4; start++) {
    const listen = `127.0.0.1:${freePort()}`;
    const child = Bun.spawn([process.execPath, main, "start", "--server-listen", listen], {
      env: {
        ...process.env,
        SLIPWAY_DATA_DIR: join(dataDir, `start-${start}`),
        SLIPWAY_RUNNER_ENABLED: "false",
        SLIPWAY_ADMIN_PASSWORD: password,
      },
      stdout: "ignore",
      stderr: "ignore",
    });
    await eventually("the server is ready", async () => {
      const answer = await fetch(`http://${listen}/readyz`).catch(() => null);
      if (answer?.status === 503) expect(await answer.text()).toBe("starting\n");
      return answer?.status === 200;
    });
    const answer = await fetch(`http://${listen}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "admin", password }),
    });
    signIns.push(answer.status);
    child.kill("SIGKILL");
    await child.exited;
  }
  expect(signIns).toEqual([200, 200, 200, 200]);
});

test.each([" ", "short", "x".repeat(257)])(
  "a first start refuses SLIPWAY_ADMIN_PASSWORD=%j, as the API does",
  async (password) => {
    const slipway = buildCli({
      SLIPWAY_DATA_DIR: join(dataDir, `refused-${password.length}`),
      SLIPWAY_RUNNER_ENABLED: "false",
      SLIPWAY_ADMIN_PASSWORD: password,
    });
    const { exitCode, stderr } = await slipway(["start", "--server-listen", "127.0.0.1:0"]);
    expect([exitCode, stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining("must have 8 to 256 characters"),
    ]);
    expect(exitCode).not.toBe(0);
  },
);
