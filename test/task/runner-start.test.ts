import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { buildCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { startFakeServer } from "../support/fake-server.ts";
import { freePort } from "../support/free-port.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startRunnerProcess } from "../support/runner-process.ts";

type Line = Record<string, unknown>;

async function linesOf(runner: { log(): Promise<string> }): Promise<Line[]> {
  const lines = (await runner.log()).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The lines of a runner's log with these words, once there is one. */
async function said(runner: { log(): Promise<string> }, words: string): Promise<Line[]> {
  let found: Line[] = [];
  await eventually(`the runner says "${words}"`, async () => {
    found = (await linesOf(runner)).filter((line) => String(line.msg).includes(words));
    return found.length > 0;
  });
  return found;
}

describe("a remote runner", async () => {
  const server = await setUpApi();

  test("logs at its start its server, its name, its labels and how many tasks it runs at once", async () => {
    const { id, token } = await registerRunner(server.url, server.admin, {
      name: "builder in the cellar",
      labels: ["linux", "arm64"],
    });
    const runner = startRunnerProcess(server.url, token, 3, { SLIPWAY_RUNNER_LABELS: "linux,gpu" });
    try {
      expect(await said(runner, "connected")).toMatchObject([
        {
          level: "info",
          server: server.url,
          runner: "builder in the cellar",
          labels: ["linux"],
          concurrency: 3,
        },
      ]);
      expect(await said(runner, "offered in vain")).toMatchObject([{ level: "warn", labels: ["gpu"] }]);
      const known = await server.admin.expect<Line>(200, "GET", `/api/runners/${id}`);
      expect(known).toMatchObject({ online: true, concurrency: 3 });
      expect(await runner.log()).not.toContain(token);
    } finally {
      await runner.stop();
    }
  });

  test("with a wrong token exits at its start with code 2 and says how to get a new one", async () => {
    const slipway = buildCli({ SLIPWAY_RUNNER_TOKEN: "slr_not-a-token-of-this-server" });
    const run = await slipway(["runner", "--server", server.url]);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain(`${server.url} refuses the token of this runner (401)`);
    expect(run.stderr).toContain("under Runners in the console");
    expect(run.stderr).not.toContain("not-a-token");
    expect(run.stdout).toBe("");
  });

  test("that is disabled is refused at its start, too", async () => {
    const { id, token } = await registerRunner(server.url, server.admin, { name: "switched off" });
    await server.admin.expect(200, "PATCH", `/api/runners/${id}`, { disabled: true });
    const run = await buildCli({ SLIPWAY_RUNNER_TOKEN: token })(["runner", "--server", server.url]);
    expect(run).toMatchObject({ exitCode: 2 });
    expect(run.stderr).toContain("its runner is disabled");
  });
});

describe("a runner whose server is away", () => {
  test("warns once with the time of its next attempt, and connects when the server is there", async () => {
    const port = freePort();
    const runner = startRunnerProcess(`http://127.0.0.1:${port}`, "a token", 1);
    try {
      const [warning] = await said(runner, "the server gives no work");
      expect(warning).toMatchObject({ level: "warn" });
      expect(warning?.msg).toMatch(/next try in 0\.\d s, then every 10 s/);
      const fake = startFakeServer(port);
      await said(runner, "connected");
      await said(runner, "the server answers again");
      fake.stop();
      await eventually("it warns a second time", async () => {
        const lines = await linesOf(runner);
        return lines.filter(({ level }) => level === "warn").length === 2;
      });
    } finally {
      await runner.stop();
    }
  });
});

describe("a runner that is refused later", () => {
  test("logs an error, and works again when it is accepted", async () => {
    const fake = startFakeServer();
    const runner = startRunnerProcess(fake.url, "a token", 1);
    try {
      await said(runner, "connected");
      fake.disturb = () => 401;
      const [refusal] = await said(runner, "refuses this runner's token");
      expect(refusal).toMatchObject({ level: "error" });
      expect(Number(refusal?.nextTryInSeconds)).toBeGreaterThan(2);
      fake.disturb = () => null;
      await said(runner, "the server answers again");
    } finally {
      await runner.stop();
      fake.stop();
    }
  });
});
