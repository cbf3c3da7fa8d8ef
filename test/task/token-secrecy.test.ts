import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { buildCli } from "../support/cli.ts";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { isAlive } from "../support/process-watch.ts";
import { main } from "../support/program.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What /proc shows about the start of a process. */
function startedWith(pid: number): string {
  return readFileSync(`/proc/${pid}/environ`, "latin1") + readFileSync(`/proc/${pid}/cmdline`, "latin1");
}

/** Whether another process of the same user can read the environment of this one. */
async function isReadable(pid: number): Promise<boolean> {
  const command = [...ordinary, "cat", `/proc/${pid}/environ`];
  return (await Bun.spawn(command, { stdout: "ignore", stderr: "ignore" }).exited) === 0;
}

test("other processes of the same user cannot read the memory of servers and runners", async () => {
  const dataDir = temporaryFolder("closed");
  const flags = ["--data-dir", dataDir, "--server-listen", "127.0.0.1:0", "--push-drain-delay", "0s"];
  const probe = Bun.spawn([...ordinary, "sleep", "60"]);
  const server = Bun.spawn([...ordinary, process.execPath, main, "start", ...flags], {
    stdout: Bun.file(join(dataDir, "log")),
    stderr: "ignore",
  });
  try {
    await eventually("the probe runs", () => readFileSync(`/proc/${probe.pid}/comm`, "utf8") === "sleep\n");
    expect(await isReadable(probe.pid)).toBe(true);
    const pidFile = join(dataDir, "runner/local.pid");
    await eventually("the local runner asks for work", async () => {
      const log = Bun.file(join(dataDir, "runner/runner.log"));
      return (await log.exists()) && (await log.text()).includes("connected");
    });
    const { pid } = JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number };
    for (const one of [server.pid, pid]) expect(await isReadable(one)).toBe(false);
  } finally {
    probe.kill();
    server.kill();
    await server.exited;
  }
});

describe("a server and its local runner", async () => {
  const metricsToken = "metrics-token-of-this-test";
  const encryptionKey = Buffer.alloc(32, 7).toString("base64");
  const dataDir = temporaryFolder("secrecy");
  const repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });

  const start = () =>
    startServerProcess(dataDir, { "metrics-token": metricsToken }, [], {
      SLIPWAY_DATA_ENCRYPTION_KEY: encryptionKey,
    });

  test("keep keys, passwords and tokens from scripts, which read /proc and the runner's files", async () => {
    const server = await start();
    const runner = server.runnerPid();
    for (const pid of [server.pid, runner]) {
      const shown = startedWith(pid);
      for (const secret of [metricsToken, encryptionKey, adminPassword]) expect(shown).not.toContain(secret);
      expect(shown).not.toContain("slr_");
    }
    expect(readFileSync(join(dataDir, "runner/local.json"), "utf8")).not.toContain("slr_");
    const build =
      "{ tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' ' ' </proc/$PPID/cmdline; } 2>/dev/null || true; echo; echo looked";
    const task = await server.run(await server.project(repository.url, { build }));
    await server.reach(task.id, "success");
    const shown = textOf(await server.logged(task.id, "looked"));
    expect(shown).toContain("--local");
    for (const secret of ["slr_", metricsToken, encryptionKey, adminPassword])
      expect(shown).not.toContain(secret);
    await server.end("SIGTERM");
    await eventually("the idle runner ends with its server", () => !isAlive(runner));
  });

  test("reconnect after a crash of either, without help", async () => {
    const first = await start();
    const runner = first.runnerPid();
    await first.end("SIGKILL");
    const second = await start();
    expect(second.runnerPid()).toBe(runner);
    const projectId = await second.project(repository.url, { build: "true" });
    await second.reach((await second.run(projectId)).id, "success");
    process.kill(runner, "SIGKILL");
    await eventually("another runner is started", () => second.runnerPid() !== runner);
    await second.reach((await second.run(projectId)).id, "success");
    const last = second.runnerPid();
    await second.end("SIGTERM");
    await eventually("the idle runner ends with its server", () => !isAlive(last));
  });
});

describe("a runner on another machine", async () => {
  const server = await setUpApi();
  const folder = temporaryFolder("token");

  type Way = (token: string) => { env?: Record<string, string>; flags?: string[]; stdin?: string };
  const file = (name: string, token: string, mode = 0o600) => {
    const path = join(folder, name);
    writeFileSync(path, `${token}\n`, { mode });
    return path;
  };
  const ways: [string, Way][] = [
    ["SLIPWAY_RUNNER_TOKEN", (token) => ({ env: { SLIPWAY_RUNNER_TOKEN: token } })],
    ["--token", (token) => ({ flags: ["--token", token] })],
    ["--runner-token=…", (token) => ({ flags: [`--runner-token=${token}`] })],
    ["--token-file", (token) => ({ flags: ["--token-file", file("own", token)] })],
    ["an open file", (token) => ({ flags: ["--token-file", "/dev/stdin"], stdin: `${token}\n` })],
    [
      "a credential of systemd",
      (token) => {
        file("runner-token", token);
        return { env: { CREDENTIALS_DIRECTORY: folder } };
      },
    ],
  ];
  test.each(ways)("reads its token from %s, and /proc does not show it", async (name, way) => {
    const { id, token } = await registerRunner(server.url, server.admin, { name });
    const { env = {}, ...options } = way(token);
    const runner = startRunnerProcess(server.url, null, 1, env, options);
    try {
      await eventually("it is connected", async () => {
        const path = `/api/runners/${id}`;
        return (await server.admin.expect<{ online: boolean }>(200, "GET", path)).online;
      });
      expect(startedWith(runner.pid)).not.toContain(token);
      expect(await runner.log()).not.toContain(token);
    } finally {
      await runner.stop();
    }
  });

  const mistakes: [string, () => string[], string][] = [
    ["two tokens", () => ["--token", "slr_a", "--token-file", file("two", "slr_b")], "not both"],
    ["a file that is missing", () => ["--token-file", join(folder, "missing")], "ENOENT"],
    ["an empty file", () => ["--token-file", file("empty", "")], "must contain only the token"],
    ["no token", () => [], "--token-file FILE"],
  ];
  test.each(mistakes)("is refused with %s", async (_, flags, words) => {
    const run = await buildCli({})(["runner", "--server", server.url, ...flags()]);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain(words);
  });

  test("warns of a token file that others can read", async () => {
    const { token } = await registerRunner(server.url, server.admin, { name: "open to all" });
    const flags = ["--token-file", file("open", token, 0o644)];
    const runner = startRunnerProcess(server.url, null, 1, {}, { flags });
    await eventually("it warns", async () => (await runner.log()).includes("chmod 600"));
    await runner.stop();
  });
});
