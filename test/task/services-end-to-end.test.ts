import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import type { ServiceAnswer } from "../../src/http/api/services.ts";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { endScriptsIn, isAlive, keepersIn, signalIfAlive } from "../support/process-watch.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Without a sandbox, test/releases has services too. */
const isolation = (await serviceUrl("bwrap")) ? "sandbox" : "none";
const secret = "hush-4711-secret";

/** Answers with its commit where it has a port. `mark` finds its process from outside of the sandbox. */
const app = `const mark = process.argv[2];
console.log(mark, "begins with", process.env.TOKEN);
if (process.env.PORT)
  require("node:http")
    .createServer((_, response) => response.end(process.env.CI_COMMIT))
    .listen(Number(process.env.PORT), "127.0.0.1");
else setInterval(() => {}, 1000);
process.on("SIGTERM", () => process.exit(0));
`;

describe(`services with isolation ${isolation}`, () => {
  const port = freePort();
  const dataDir = temporaryFolder("services");
  const runnerDir = temporaryFolder("services-runner");
  const mark = `mark-${process.pid}`;
  const web = { command: `node app.js web-${mark}`, check: { http: "/" }, drain: 0, stopGrace: 1 };
  const worker = { command: `node app.js worker-${mark}`, port: "none", stopGrace: 1 };
  let repository: Awaited<ReturnType<typeof makeRepository>>;
  let git: ReturnType<typeof serveGit>;
  let server: DeployServer;
  let token = "";
  let runner: ReturnType<typeof startRunnerProcess>;
  let projectId = 0;

  const startServer = async () => {
    server = await startDeployServer({ "server.listen": { host: "127.0.0.1", port } }, dataDir);
  };
  const startRunner = () => {
    runner = startRunnerProcess(`http://127.0.0.1:${port}`, token, 1, {
      SLIPWAY_RUNNER_DIR: runnerDir,
      SLIPWAY_RUNNER_ENGINE: "none",
      SLIPWAY_RUNNER_ISOLATION: isolation,
      SLIPWAY_RUNNER_LABELS: "pool",
    });
  };

  beforeAll(async () => {
    repository = await makeRepository();
    await repository.push({ "app.js": app });
    git = serveGit(repository.url.replace(/\/[^/]+$/, ""), null);
    await startServer();
    const made = { name: "pool", labels: ["pool"] };
    ({ token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/runners", made));
    startRunner();
    projectId = await server.project(
      `${git.url}/shop.git`,
      {},
      {
        labels: ["pool"],
        pipeline: { deploy: [{ script: "echo migrated" }], start: { web, worker } },
      },
    );
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, { value: secret });
  });
  afterAll(async () => {
    await runner.stop("SIGINT");
    await server.stop();
    server.remove();
    endScriptsIn(runnerDir);
    await git.stop();
    expect(keepersIn(runnerDir).filter(isAlive)).toEqual([]);
  });

  const change = (start: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { pipeline: { start, ...more } });

  async function deploy(state: "success" | "failed", message = "a change") {
    const commit = await repository.push({}, { message });
    return { commit, task: await server.reach((await server.run(projectId)).id, state) };
  }

  const services = async (): Promise<ServiceAnswer[]> =>
    (
      await server.admin.expect<{ services: ServiceAnswer[] }>(
        200,
        "GET",
        `/api/projects/${projectId}/services`,
      )
    ).services;
  const serviceNamed = async (name: string) => (await services()).find((each) => each.name === name);
  const reachState = (name: string, state: string, withinMs = 30_000) =>
    eventually(`${name} is ${state}`, async () => (await serviceNamed(name))?.state === state, withinMs);
  const webPort = async () => (await serviceNamed("web"))?.port ?? 0;

  /** The processes of node that have this argument, whatever namespace they are in. */
  function pidsOf(name: string): number[] {
    return readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .map(Number)
      .filter((pid) => {
        try {
          const [program = "", ...words] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
          return program.endsWith("node") && words.includes(`${name}-${mark}`) && isAlive(pid);
        } catch {
          return false;
        }
      });
  }

  async function answer(at: number): Promise<string | null> {
    const response = await fetch(`http://127.0.0.1:${at}/`, { keepalive: false }).catch(() => null);
    return response?.text() ?? null;
  }
  const isServed = (at: number, commit: string) =>
    eventually(`${commit} is served`, async () => (await answer(at)) === commit, 30_000);

  const act = (name: string, action: "start" | "stop" | "restart") =>
    server.admin.expect<TaskJson>(202, "POST", `/api/projects/${projectId}/services/${name}/${action}`);

  let current = "";

  test("a deploy starts both, and a killed one serves again within 2 seconds", async () => {
    const { commit, task } = await deploy("success");
    current = commit;
    const at = await webPort();
    expect(await answer(at)).toBe(commit);
    expect((await services()).map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
      "web serving",
      "worker serving",
    ]);
    expect(task.stages.find(({ name }) => name === "start")).toMatchObject({ state: "success" });
    const [pid = 0, ...others] = pidsOf("web");
    expect(others).toEqual([]);
    process.kill(pid, "SIGKILL");
    const killedAt = performance.now();
    await isServed(at, commit);
    const tookMs = performance.now() - killedAt;
    // A busy machine takes longer to start any process.
    const begunAt = performance.now();
    Bun.spawnSync(["node", "-e", "0"]);
    const startMs = performance.now() - begunAt;
    console.log(
      `${isolation}: serving again after ${Math.round(tookMs)} ms, of which node ${Math.round(startMs)} ms`,
    );
    expect(tookMs).toBeLessThan(2000 + 2 * startMs);
    await eventually("the exit is shown", async () => (await serviceNamed("web"))?.restarts === 1);
    expect(await serviceNamed("web")).toMatchObject({ lastExit: "SIGKILL", release: { taskId: task.id } });
  });

  test("its output is read by the API, with the secret masked", async () => {
    const path = `/api/projects/${projectId}/services/worker/output?direction=forward`;
    const { lines } = await server.admin.expect<{ lines: { text: string }[] }>(200, "GET", path);
    const text = lines.map((line) => line.text).join("\n");
    expect(text).toContain(`worker-${mark} begins with ***`);
    expect(text).not.toContain(secret);
  });

  test("one that dies during the start fails the deploy with its name and last lines; nothing else was touched", async () => {
    current = (await deploy("success", "another")).commit;
    const before = [pidsOf("web"), pidsOf("worker")];
    const bad = { command: "echo no database at db:5432; exit 3", port: "$PORT" };
    await change({ web, worker, bad });
    const { task } = await deploy("failed", "one dies");
    expect(task.reason).toContain("the service bad ended by itself (3); last output: no database at db:5432");
    expect([pidsOf("web"), pidsOf("worker")]).toEqual(before);
    expect(await answer(await webPort())).toBe(current);
    await change({ web, worker });
  });

  test("a rollback starts the services of the earlier release, and runs no deploy step", async () => {
    const path = `/api/projects/${projectId}/rollback`;
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", path, {});
    const task = await server.reach(id, "success");
    expect(textOf(await server.log(id))).not.toContain("migrated");
    expect(task.stages.find(({ name }) => name === "deploy")).toMatchObject({ state: "skipped" });
    current = task.commit ?? "";
    await isServed(await webPort(), current);
    current = (await deploy("success", "forward again")).commit;
  });

  test("stop, start, restart and exec do not wait for a build of the same project", async () => {
    await change({ web, worker }, { build: [{ script: "echo building; sleep 300" }] });
    const build = await server.run(projectId);
    await server.logged(build.id, "building");
    const at = await webPort();
    await server.reach((await act("web", "stop")).id, "success");
    expect(pidsOf("web")).toEqual([]);
    await reachState("web", "stopped");
    expect(await answer(at)).toBeNull();
    await server.reach((await act("web", "start")).id, "success");
    await reachState("web", "serving");
    const [before = 0] = pidsOf("web");
    await server.reach((await act("web", "restart")).id, "success");
    await isServed(await webPort(), current);
    expect(isAlive(before)).toBeFalse();
    const command = ["sh", "-c", 'echo "exec of $CI_COMMIT"; ls app.js'];
    const exec = await server.admin.expect<TaskJson>(202, "POST", `/api/projects/${projectId}/exec`, {
      command,
    });
    await server.reach(exec.id, "success");
    const text = textOf(await server.log(exec.id));
    expect(text).toContain(`exec of ${current}`);
    expect(text).toContain("app.js");
    expect((await server.task(build.id)).state).toBe("running");
    await server.admin.expect(200, "POST", `/api/tasks/${build.id}/cancel`);
    await server.reach(build.id, "canceled");
    await change({ web, worker }, { build: [] });
    expect(await answer(await webPort())).toBe(current);
  });

  test("ten services, one in a crash loop: the others are not disturbed, and there is one message", async () => {
    const receiver = receiveNotifications();
    const names = Array.from({ length: 9 }, (_, index) => `still-${index}`);
    const still = { command: "exec sleep 1000", port: "none", stopGrace: 1 };
    // It lives long enough for its deploy once.
    const loop = { command: `[ -e "$DATA/begun" ] && exit 3; touch "$DATA/begun"; sleep 7`, port: "none" };
    const ten = await server.project(
      `${git.url}/shop.git`,
      {},
      {
        labels: ["pool"],
        notify: [{ url: receiver.url, events: ["service.down", "service.up"] }],
        pipeline: {
          data: ["kept"],
          start: Object.fromEntries([
            ...names.map((name) => [name, still]),
            ["loop", { ...loop, env: { DATA: "kept" } }],
          ]),
        },
      },
    );
    const listed = async () =>
      (await server.admin.expect<{ services: ServiceAnswer[] }>(200, "GET", `/api/projects/${ten}/services`))
        .services;
    await server.reach((await server.run(ten)).id, "success");
    const begun = await listed();
    await eventually("it has ended five times", async () =>
      (await listed()).some(({ name, restarts }) => name === "loop" && restarts >= 4),
    );
    await eventually("the message arrives", () => receiver.received.length > 0);
    const undisturbed = (all: ServiceAnswer[]) =>
      all
        .filter(({ name }) => name !== "loop")
        .map(({ name, state, since, restarts }) => ({ name, state, since, restarts }));
    expect(
      undisturbed(begun).filter(({ state, restarts }) => state === "serving" && restarts === 0),
    ).toHaveLength(9);
    expect(undisturbed(await listed())).toEqual(undisturbed(begun));
    expect(receiver.received.map(({ json }) => json.type)).toEqual(["service.down"]);
    for (const { name } of begun)
      await server.admin.expect(202, "POST", `/api/projects/${ten}/services/${name}/stop`);
    await eventually("all are stopped", async () =>
      (await listed()).every(({ state }) => state === "stopped"),
    );
    receiver.stop();
  });

  test("SIGTERM of the runner leaves them running, unknown within 30 s; the next runner adopts the same processes", async () => {
    const at = await webPort();
    const before = [pidsOf("web"), pidsOf("worker")];
    await runner.stop("SIGTERM");
    await reachState("web", "unknown", 35_000);
    expect(await answer(at)).toBe(current);
    const output = await server.admin.request("GET", `/api/projects/${projectId}/services/web/output`);
    expect(output.status).toBe(503);
    startRunner();
    await reachState("web", "serving");
    expect([pidsOf("web"), pidsOf("worker")]).toEqual(before);
  });

  test("while the server is down they go on, and one that is killed starts again", async () => {
    const at = await webPort();
    await server.stop();
    for (const pid of pidsOf("web")) process.kill(pid, "SIGKILL");
    await isServed(at, current);
    await startServer();
    await reachState("web", "serving", 60_000);
  });

  test("after a reboot the runner starts them without the server", async () => {
    const at = await webPort();
    await server.stop();
    // As a machine that loses power: nobody can end anything in order.
    process.kill(runner.pid, "SIGKILL");
    for (const pid of [...keepersIn(runnerDir), ...pidsOf("web"), ...pidsOf("worker")])
      signalIfAlive(pid, "SIGKILL");
    await eventually("nothing runs", () => [...pidsOf("web"), ...pidsOf("worker")].length === 0, 5000);
    startRunner();
    await isServed(at, current);
    await eventually("the other one runs", () => pidsOf("worker").length === 1, 10_000);
    expect(pidsOf("web")).toHaveLength(1);
    await startServer();
    await reachState("web", "serving", 60_000);
  });

  test("Ctrl-C of the runner ends them, and they start with the next one; a stopped one does not", async () => {
    await server.reach((await act("worker", "stop")).id, "success");
    const at = await webPort();
    await runner.stop("SIGINT");
    expect([...pidsOf("web"), ...pidsOf("worker")]).toEqual([]);
    expect(keepersIn(runnerDir).filter(isAlive)).toEqual([]);
    startRunner();
    await isServed(at, current);
    await reachState("web", "serving");
    await reachState("worker", "stopped");
    expect(pidsOf("worker")).toEqual([]);
  });
});
