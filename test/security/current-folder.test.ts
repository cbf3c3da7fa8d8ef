import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { executable } from "../support/executable.ts";
import { makeRepository } from "../support/git-repository.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startPushProcess } from "../support/push-process.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dir, "../..");
const folder = temporaryFolder("current-folder");
const traces = join(folder, "traces");

/** Receives what is sent to the address that the folder names. */
const requests: string[] = [];
const stranger = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    requests.push(`${request.method} ${request.url} ${request.headers.get("authorization")}`);
    return Response.json({});
  },
});
afterAll(() => stranger.stop(true));

/** Everything by which the runtime could be told to run a file or to change the environment. */
const leaveTrace = `require("node:fs").appendFileSync(${JSON.stringify(traces)}, process.argv.join(" ") + "\\n");\n`;
const variables = [
  `SLIPWAY_URL=${stranger.url.origin}`,
  `SLIPWAY_RUNNER_SERVER=${stranger.url.origin}`,
  "SLIPWAY_NO_SUCH_SETTING=1",
];
writeFileSync(join(folder, "evil.js"), leaveTrace);
for (const name of ["bunfig.toml", ".bunfig.toml"])
  writeFileSync(join(folder, name), 'preload = ["./evil.js"]\n[run]\npreload = ["./evil.js"]\n');
for (const name of [".env", ".env.local", ".env.development", ".env.production"])
  writeFileSync(join(folder, name), `${variables.join("\n")}\n`);
const redirected = { compilerOptions: { baseUrl: ".", paths: { "*": ["./evil.js"] } } };
for (const name of ["tsconfig.json", "jsconfig.json"])
  writeFileSync(join(folder, name), JSON.stringify(redirected));
writeFileSync(
  join(folder, "package.json"),
  JSON.stringify({ name: "slipway", main: "./evil.js", exports: { ".": "./evil.js", "./*": "./evil.js" } }),
);
for (const name of ["commander", "pino", "yaml", "pg-native", "zod"]) {
  mkdirSync(join(folder, "node_modules", name), { recursive: true });
  writeFileSync(join(folder, "node_modules", name, "index.js"), leaveTrace);
}

beforeEach(() => {
  rmSync(traces, { force: true });
  requests.length = 0;
});

function expectNothingRead(): void {
  expect(existsSync(traces) ? readFileSync(traces, "utf8") : "").toBe("");
  expect(requests).toEqual([]);
}

async function run(command: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { stdout, stderr, exitCode: await child.exited };
}

const programs: [string, () => Promise<string>][] = [
  ["bin/slipway", async () => join(root, "bin/slipway")],
  ["the executable", executable],
];

describe.each(programs)("%s in a folder of somebody else", (_name, program) => {
  test("runs no file of it", async () => {
    expect(await run([await program(), "--version"])).toMatchObject({ exitCode: 0, stderr: "" });
    expectNothingRead();
  });

  test("sends its token only to the server that the caller named", async () => {
    const { exitCode, stderr } = await run([await program(), "project", "list"], {
      SLIPWAY_TOKEN: "slp_of_this_test",
      SLIPWAY_URL: "http://127.0.0.1:9",
    });
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining("http://127.0.0.1:9")]);
    await run([await program(), "project", "list"], { SLIPWAY_TOKEN: "slp_of_this_test" });
    expectNothingRead();
  });

  test("is a server whose thread, local runner and guard run no file of it", async () => {
    const dataDir = temporaryFolder("server");
    const repository = await makeRepository();
    await repository.push({ "app.txt": "one\n" });
    const server = await startServerProcess(dataDir, {}, [], {}, [await program()], ["env", "-C", folder]);
    try {
      const task = await server.run(await server.project(repository.url, { build: "cat app.txt" }));
      expect((await server.reach(task.id, "success")).state).toBe("success");
    } finally {
      expect(await server.end("SIGTERM")).toBe(0);
    }
    expectNothingRead();
  });

  test("is a gateway whose workers run no file of it", async () => {
    const gateway = await startPushProcess(
      "current-folder",
      { "push-verify-uri": "http://127.0.0.1:9/verify", workers: "2" },
      ["env", "-C", folder, await program()],
    );
    await gateway.stop();
    expectNothingRead();
  });

  test("is a runner that shows its token only to its server", async () => {
    const server = await setUpApi();
    const { id, token } = await registerRunner(server.url, server.admin, { name: "in a folder" });
    const child = Bun.spawn([await program(), "runner", "--data-dir", temporaryFolder("runner")], {
      cwd: folder,
      env: { PATH: process.env.PATH, SLIPWAY_RUNNER_SERVER: server.url, SLIPWAY_RUNNER_TOKEN: token },
      stdio: ["ignore", "ignore", "ignore"],
    });
    try {
      await eventually("it is connected", async () => {
        const runner = await server.admin.expect<{ online: boolean }>(200, "GET", `/api/runners/${id}`);
        return runner.online;
      });
    } finally {
      child.kill();
      await child.exited;
    }
    expectNothingRead();
  });
});
