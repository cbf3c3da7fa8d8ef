import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { isAlive } from "../support/process-watch.ts";
import { answerOf, service } from "../support/release-scene.ts";

let server: DeployServer;
let repository: GitRepository;
let git: ReturnType<typeof serveGit>;

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "server.js": service });
  git = serveGit(repository.url.replace(/\/[^/]+$/, ""), null);
  server = await startDeployServer();
});
afterAll(async () => {
  await server.stop();
  server.remove();
  await git.stop();
});

const command = "node server.js";
const run = `${command} &`;
const gitUrl = () => `${git.url}/shop.git`;

async function project(start: Record<string, unknown>, port: number): Promise<number> {
  return server.project(gitUrl(), {}, { stages: { start }, env: { LISTEN: String(port) } });
}

async function deploy(projectId: number, message: string): Promise<string> {
  const commit = await repository.push({}, { message });
  await server.reach((await server.run(projectId)).id, "success");
  return commit;
}

async function liveTask(projectId: number): Promise<number | null> {
  return (await server.admin.expect<{ liveTaskId: number | null }>(200, "GET", `/api/projects/${projectId}`))
    .liveTaskId;
}

const http = (port: number, more = {}) => ({
  type: "http",
  url: `http://127.0.0.1:${port}/`,
  timeoutSeconds: 10,
  ...more,
});

describe("a second deploy of a service on a fixed port", () => {
  test("stop-first is the rule of a new project: the new commit serves and the old process is gone", async () => {
    const port = freePort();
    const projectId = await project({ script: run, healthCheck: http(port) }, port);
    const read = await server.admin.expect<{ stages: { start: object } }>(
      200,
      "GET",
      `/api/projects/${projectId}`,
    );
    expect(read.stages.start).toMatchObject({ previous: "stop-first", settleSeconds: 5 });
    const first = await deploy(projectId, "first");
    const before = await answerOf(port);
    expect(before.commit).toBe(first);
    const second = await deploy(projectId, "second");
    const after = await answerOf(port);
    expect(after.commit).toBe(second);
    expect(after.pid).not.toBe(before.pid);
    expect(isAlive(before.pid)).toBe(false);
  });

  test("keep leaves it to the script: a script that does not end the old one fails, and names who holds the port", async () => {
    const port = freePort();
    const projectId = await project({ script: run, previous: "keep", healthCheck: http(port) }, port);
    const first = await deploy(projectId, "first");
    const live = await liveTask(projectId);
    await repository.push({}, { message: "second" });
    const task = await server.reach((await server.run(projectId)).id, "failed");
    expect(task.reason).toContain(`port ${port} is still held by task ${live} (commit ${first.slice(0, 7)})`);
    expect((await answerOf(port)).commit).toBe(first);
  });

  test("keep with a script that ends the old one by itself succeeds", async () => {
    const port = freePort();
    const pidFile = `/tmp/slipway-keep-${port}.pid`;
    const script = `if [ -f ${pidFile} ]; then kill "$(cat ${pidFile})"; while kill -0 "$(cat ${pidFile})" 2>/dev/null; do sleep 0.05; done; fi
node server.js &
echo $! >${pidFile}`;
    const projectId = await project({ script, previous: "keep", healthCheck: http(port) }, port);
    await deploy(projectId, "first");
    const second = await deploy(projectId, "second");
    expect((await answerOf(port)).commit).toBe(second);
    rmSync(pidFile);
  });

  test("stop-after-healthy runs both until the switch script has pointed the proxy to $PORT", async () => {
    const port = freePort();
    const upstream = `/tmp/slipway-upstream-${port}`;
    const start = {
      script: "LISTEN=$PORT node server.js &",
      previous: "stop-after-healthy",
      healthCheck: { type: "http", url: "http://127.0.0.1:$PORT/", timeoutSeconds: 10, expect: "$CI_COMMIT" },
      switch: `echo "$PORT" >${upstream}`,
    };
    const projectId = await project(start, port);
    const upstreamUrl = async () => `http://127.0.0.1:${(await Bun.file(upstream).text()).trim()}/`;
    const proxy = Bun.serve({
      port,
      hostname: "127.0.0.1",
      async fetch() {
        const url = await upstreamUrl();
        return fetch(url).catch(async (error: unknown) => {
          // The switch may happen after the file was read.
          const newUrl = await upstreamUrl();
          if (newUrl === url) throw error;
          return fetch(newUrl);
        });
      },
    });
    try {
      const first = await deploy(projectId, "first");
      const before = await answerOf(port);
      expect(before.commit).toBe(first);
      const seen = new Set<string>();
      let failures = 0;
      let isOver = false;
      const asking = (async () => {
        while (!isOver) {
          await answerOf(port).then(
            ({ commit }) => seen.add(commit),
            () => {
              failures += 1;
            },
          );
          await Bun.sleep(5);
        }
      })();
      const second = await deploy(projectId, "second");
      isOver = true;
      await asking;
      expect((await answerOf(port)).commit).toBe(second);
      expect([...seen]).toContain(first);
      expect(failures).toBe(0);
      expect(isAlive(before.pid)).toBe(false);
      process.kill((await answerOf(port)).pid);
    } finally {
      await proxy.stop(true);
      rmSync(upstream, { force: true });
    }
  });
});

/** Waits until a process has written its pid. */
async function pidIn(file: string): Promise<number> {
  let pid = 0;
  await eventually("the pid is written", async () => {
    pid = Number(
      await Bun.file(file)
        .text()
        .catch(() => ""),
    );
    return pid > 0;
  });
  return pid;
}

describe("a start must be proven", () => {
  test("a service that exits fails the task, and its last output says why", async () => {
    const projectId = await project(
      // The runner takes a script that leaves no process for one whose service is managed elsewhere.
      { script: "(sleep 1; exec node -e \"console.log(1); throw new Error('no database')\") &" },
      0,
    );
    const task = await server.reach((await server.run(projectId)).id, "failed");
    expect(task.reason).toContain("all started processes have exited; last output:");
    expect(task.reason).toContain("no database");
    expect(textOf(await server.log(task.id))).toContain("no database");
    expect(await liveTask(projectId)).toBeNull();
  });

  test("without a health check it must live for settleSeconds", async () => {
    const short = await project({ script: "sleep 1 &", settleSeconds: 3 }, 0);
    const task = await server.reach((await server.run(short)).id, "failed");
    expect(task.reason).toBe("all started processes have exited; there was no output");
    const long = await project({ script: "sleep 60 &", settleSeconds: 1 }, 0);
    await server.reach((await server.run(long)).id, "success");
  });

  test("a port of another program is not taken for the service", async () => {
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("other") });
    try {
      const port = other.port ?? 0;
      const projectId = await project(
        { script: `(sleep 1; exec ${command}) &`, healthCheck: http(port) },
        port,
      );
      const task = await server.reach((await server.run(projectId)).id, "failed");
      expect(task.reason).toContain(`port ${port} is held by`);
      expect(task.reason).toContain("which was running before this start");
    } finally {
      await other.stop(true);
    }
  });

  test("a service that is managed elsewhere leaves no process: expect tells the commits apart", async () => {
    const commitFile = `/tmp/slipway-managed-${process.pid}`;
    const elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async () => new Response(`version ${await Bun.file(commitFile).text()}`),
    });
    try {
      const check = http(elsewhere.port ?? 0, { expect: "version $CI_COMMIT" });
      const good = await project({ script: `printf %s "$CI_COMMIT" >${commitFile}`, healthCheck: check }, 0);
      await server.reach((await server.run(good)).id, "success");
      await repository.push({}, { message: "not restarted" });
      const stale = await project({ script: "true", healthCheck: { ...check, timeoutSeconds: 2 } }, 0);
      const task = await server.reach((await server.run(stale)).id, "failed");
      expect(task.reason).toContain("the response does not contain");
    } finally {
      await elsewhere.stop(true);
      rmSync(commitFile, { force: true });
    }
  });

  test("a daemon that leaves the session only after the script has ended counts as running", async () => {
    const pidFile = `/tmp/slipway-late-${process.pid}`;
    const daemon = `setsid sh -c 'echo $$ >${pidFile}; exec sleep 300'`;
    // The process itself gets a session of its own, or a child of it does and the process exits, as daemon(3) and others do.
    for (const late of [
      `sh -c "sleep 0.3; exec ${daemon.replaceAll("$", "\\$")}" &`,
      `(sleep 0.3; ${daemon} &) &`,
    ]) {
      const projectId = await project({ script: late, settleSeconds: 2 }, 0);
      const { id } = await server.run(projectId);
      const task = await server.reach(id, "success", "failed");
      const pid = await pidIn(pidFile);
      expect({ reason: task.reason, isRunning: isAlive(pid) }).toEqual({ reason: "", isRunning: true });
      process.kill(pid);
      rmSync(pidFile);
    }
    // A service that exits is found, although a daemon that was detached before lives on.
    const script = `${daemon} >/dev/null 2>&1 &
while [ ! -f ${pidFile} ]; do sleep 0.02; done; sleep 1 &`;
    const projectId = await project({ script, settleSeconds: 3 }, 0);
    const task = await server.reach((await server.run(projectId)).id, "failed");
    expect(task.reason).toContain("all started processes have exited");
    rmSync(pidFile);
  });

  test("daemons that detached into a session of their own are not ended", async () => {
    const pidFile = `/tmp/slipway-daemon-${process.pid}`;
    const script = `[ -f ${pidFile} ] || setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' >/dev/null 2>&1 &
sleep 300 &
sleep 0.3`;
    const projectId = await project({ script, settleSeconds: 1 }, 0);
    await server.reach((await server.run(projectId)).id, "success");
    const daemon = await pidIn(pidFile);
    await server.reach((await server.run(projectId)).id, "success");
    expect(isAlive(daemon)).toBe(true);
    process.kill(daemon);
    rmSync(pidFile);
  });

  test("the output goes to a file, so that a service that prints lives on, and start.log is shown too", async () => {
    const port = freePort();
    const script = "LOG=app.log node server.js &";
    const projectId = await project({ script, log: "app.log", healthCheck: http(port) }, port);
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    const text = textOf(await server.log(id));
    expect(text).toContain("printed before listening");
    expect(text).toContain("written to the log file");
    for (let i = 0; i < 20; i++) await answerOf(port);
    expect((await answerOf(port)).count).toBeGreaterThan(20);
  });
});

describe("supersede: running", () => {
  const more = { supersede: "running" };

  test("ends a build, but waits for deploy and start", async () => {
    const gate = `/tmp/slipway-gate-${process.pid}`;
    const wait = (name: string) =>
      `echo ${name}ing; while [ ! -f ${gate} ]; do sleep 0.05; done; echo ${name} done`;
    for (const name of ["deploy", "start"]) {
      const projectId = await server.project(gitUrl(), { [name]: wait(name) }, more);
      const { id } = await server.run(projectId);
      await server.logged(id, `${name}ing`);
      const { id: newer } = await server.run(projectId);
      expect((await server.task(id)).state).toBe("running");
      await Bun.write(gate, "");
      expect(await server.reach(id, "success")).toMatchObject({ supersededBy: null });
      expect(textOf(await server.log(id))).toContain(`${name} done`);
      await server.reach(newer, "success");
      rmSync(gate);
    }
    const projectId = await server.project(gitUrl(), { build: wait("build"), deploy: "true" }, more);
    const { id } = await server.run(projectId);
    await server.logged(id, "building");
    const { id: newer } = await server.run(projectId);
    expect(await server.reach(id, "canceled")).toMatchObject({ supersededBy: newer });
    await Bun.write(gate, "");
    await server.reach(newer, "success");
    rmSync(gate);
  });
});
