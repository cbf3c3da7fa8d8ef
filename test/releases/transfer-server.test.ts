import { afterAll, expect, test } from "bun:test";
import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startS3Server } from "../support/s3-server.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";
import { isPart, openHookedServer, openMachines } from "../support/two-runners.ts";

const program = `require("node:http").createServer((request, response) => {
  const fs = require("node:fs");
  if (request.url === "/write") fs.appendFileSync("uploads/note", "kept ");
  const note = fs.existsSync("uploads/note") ? fs.readFileSync("uploads/note", "utf8") : "nothing";
  response.end(process.env.CI_COMMIT.slice(0, 7) + " " + note);
}).listen(Number(process.env.PORT), "127.0.0.1");
`;
const repository = await makeRepository();
await repository.push({ "server.js": program });
const user = await makeTestUser();

/** A server as a process of its own, with two runners on machines of their own and a project that serves on the first one. */
async function setUp(flags: Record<string, string> = {}, runners: Record<string, string> = {}) {
  const dataDir = temporaryFolder("transfer-server");
  const listen = `127.0.0.1:${freePort()}`;
  const settings = { "server-listen": listen, "tasks-lease": "10s", "runner-labels": "none", ...flags };
  let server: ServerProcess = await startServerProcess(dataDir, settings);
  const url = server.url;
  const hooked = openHookedServer(url);
  const machines = openMachines();
  chmodSync(machines.root, 0o755);
  afterAll(() => server.end("SIGINT"));

  async function register(name: string, via: string) {
    const body = { name, labels: ["pool"] };
    const { id, token } = await server.admin.expect<{ id: number; token: string }>(
      ...[201, "POST", "/api/runners", body],
    );
    const machine = machines.addMachine(token, via, runners);
    await eventually(
      `the runner ${name} is connected`,
      async () => (await server.admin.expect<{ online: boolean }>(200, "GET", `/api/runners/${id}`)).online,
    );
    return { id, machine };
  }
  const [one, two] = [await register("one", url), await register("two", hooked.url)];
  const web = { command: "exec node server.js", check: { http: "/", within: 30 }, drain: 0, stopGrace: 1 };
  const projectId = await server.project(
    repository.url,
    {},
    {
      pipeline: {
        build: [{ script: "head -c 20000000 /dev/urandom > big" }],
        start: { web },
        data: ["uploads"],
      },
      labels: ["pool"],
    },
  );
  await server.admin.expect(200, "POST", `/api/projects/${projectId}/move`, { runnerId: one.id });
  const built = await server.reach((await server.run(projectId)).id, "success");

  interface Service {
    port: number | null;
    state: string;
  }
  const webOf = async () =>
    (await server.admin.expect<{ services: Service[] }>(200, "GET", `/api/projects/${projectId}/services`))
      .services[0];
  const ask = (port: number | null | undefined, path = "/") =>
    fetch(`http://127.0.0.1:${port}${path}`, { keepalive: false })
      .then((response) => response.text())
      .catch(() => null);
  return {
    ...{ one, two, projectId, built, hooked, webOf, ask, dataDir },
    server: () => server,
    kill: () => server.end("SIGKILL"),
    async restart() {
      server = await startServerProcess(dataDir, settings);
    },
    async answer(path = "/"): Promise<string> {
      let text: string | null = null;
      await eventually("the service serves", async () => {
        const service = await webOf();
        text = service?.state === "serving" ? await ask(service.port, path) : null;
        return text !== null;
      });
      return text ?? "";
    },
    move: (to: { id: number }, data: "with" | "without") =>
      server.admin
        .expect<{ task: TaskJson }>(200, "POST", `/api/projects/${projectId}/move`, { runnerId: to.id, data })
        .then(({ task }) => task),
    home: async () =>
      (await server.admin.expect<{ homeRunnerId: number }>(200, "GET", `/api/projects/${projectId}`))
        .homeRunnerId,
  };
}

test("a server that is killed in the middle of a transfer costs no request, and the move ends when it is back", async () => {
  const scene = await setUp();
  const before = await scene.answer("/write");
  const { port } = (await scene.webOf()) ?? {};
  const isReached = Promise.withResolvers<void>();
  const isBack = Promise.withResolvers<Response>();
  scene.hooked.disturb(async (path, request) => {
    if (!isPart(path) || ((await request.json()) as { part: number }).part === 0) return null;
    isReached.resolve();
    return isBack.promise;
  });
  const task = await scene.move(scene.two, "without");
  await isReached.promise;
  await scene.kill();
  isBack.resolve(new Response("", { status: 502 }));
  scene.hooked.restore();
  expect(await scene.ask(port)).toBe(before);
  await scene.restart();
  expect(await scene.ask(port)).toBe(before);
  const ended = await scene.server().reach(task.id, "success", "failed", "lost");
  expect(ended).toMatchObject({ state: "success", runnerId: scene.two.id });
  expect(await scene.home()).toBe(scene.two.id);
  // Until the new runner has reported, the answers say where it served before.
  const there = before.replace("kept ", "nothing");
  await eventually("it serves without its data", async () => (await scene.answer()) === there);
  expect(scene.two.machine.releases(scene.projectId)).toEqual([String(scene.built.id)]);
}, 240_000);

const programs = await serviceUrl("s3");

test.skipIf(!programs)(
  "a move goes through an S3 store, in which nothing stays",
  async () => {
    const store = await startS3Server(programs ?? "");
    try {
      const scene = await setUp({
        ...{ "transfers-s3-endpoint": store.endpoint, "transfers-s3-bucket": store.bucket },
        ...{
          "transfers-s3-access-key-id": store.accessKeyId,
          "transfers-s3-secret-access-key": store.secretAccessKey,
        },
      });
      const before = await scene.answer("/write");
      const task = await scene.move(scene.two, "with");
      expect(await scene.server().reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
      expect(await scene.answer()).toBe(before);
      const objects = () => store.objects();
      expect(objects().length).toBeGreaterThan(2);
      expect(readdirSync(scene.dataDir)).not.toContain("transfers");
      await scene.kill();
      await scene.restart();
      expect(await scene.answer()).toBe(before);
      await eventually("the store is empty", () => store.objects().length === 0, 150_000);
    } finally {
      await store.stop();
    }
  },
  300_000,
);

test.skipIf(user === undefined)(
  "runners that are root give release and data to the user of scripts there",
  async () => {
    const scene = await setUp({}, { SLIPWAY_RUNNER_USER: user?.name ?? "" });
    const before = await scene.answer("/write");
    const task = await scene.move(scene.two, "with");
    expect(await scene.server().reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
    expect(await scene.answer()).toBe(before);
    expect(await scene.answer("/write")).toContain("kept kept");
    const ownersOf = (folder: string) =>
      Bun.spawnSync(["find", folder, "-printf", "%u %m %P\n"])
        .stdout.toString()
        .trim()
        .split("\n")
        .toSorted();
    const release = ownersOf(
      join(scene.two.machine.folder, "releases", `${scene.projectId}/${scene.built.id}/source`),
    );
    expect(release.length).toBeGreaterThan(2);
    expect(release.every((line) => line.startsWith(`${user?.name} `))).toBe(true);
    const dataOf = ({ machine }: typeof scene.one) =>
      ownersOf(join(machine.folder, "data", String(scene.projectId)));
    expect(dataOf(scene.two)).toEqual(dataOf(scene.one));
    expect(dataOf(scene.two)).toContain(`${user?.name} 644 uploads/note`);
    const folder = lstatSync(join(scene.two.machine.folder, "data", String(scene.projectId)));
    expect([folder.uid, folder.mode & 0o777]).toEqual([0, 0o711]);
  },
  240_000,
);
