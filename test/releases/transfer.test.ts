import { beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packFolder } from "../../src/runner/transfer/pack.ts";
import { treeDigest } from "../../src/runner/workspace/tree-digest.ts";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Hook, isPart, openHookedServer, openMachines } from "../support/two-runners.ts";

const { server, repository } = await setUpDeploy({
  "transfers.quota": 50 * 1024 * 1024,
  "tasks.lease": 10_000,
});
const { admin } = server;
const { addMachine } = openMachines();

async function register(
  name: string,
  via = server.url,
  megabytes = 0,
  settings: Record<string, string> = {},
) {
  const body = { name, labels: ["pool"] };
  const { id, token } = await admin.expect<{ id: number; token: string }>(201, "POST", "/api/runners", body);
  const machine = addMachine(token, via, settings, megabytes);
  await eventually(
    `the runner ${name} is connected`,
    async () => (await admin.expect<{ online: boolean }>(200, "GET", `/api/runners/${id}`)).online,
  );
  return { id, name, machine };
}

const hooked = openHookedServer(server.url);
const one = await register("one");
const two = await register("two", hooked.url);
beforeEach(() => hooked.restore());

const program = `if (process.env.BROKEN) process.exit(1);
require("node:http").createServer((request, response) => {
  const fs = require("node:fs");
  if (request.url === "/write") fs.appendFileSync("uploads/note", "kept ");
  const note = fs.existsSync("uploads/note") ? fs.readFileSync("uploads/note", "utf8") : "nothing";
  const files = fs.existsSync("server.js") ? "" : " without files";
  response.end(process.env.CI_COMMIT.slice(0, 7) + " " + note + files);
}).listen(Number(process.env.PORT), "127.0.0.1");
`;
await repository.push({ "server.js": program });

/** A project that serves on the runner `one`. Its release has more than two parts. */
async function served(
  more: Record<string, unknown> = {},
  { bytes = 20_000_000, on = one, web = {} }: { bytes?: number; on?: { id: number }; web?: object } = {},
) {
  const builds = join(server.scratch, `builds-${Math.random()}`);
  const id = await server.project(
    repository.url,
    {},
    {
      pipeline: {
        build: [
          { script: `echo x >> ${builds}; head -c ${bytes} /dev/urandom > big; ln -s big link; mkdir empty` },
        ],
        start: {
          web: {
            command: "exec node server.js",
            check: { http: "/", within: 30 },
            drain: 0,
            stopGrace: 1,
            ...web,
          },
        },
        ...more,
      },
      labels: ["pool"],
    },
  );
  await admin.expect(200, "POST", `/api/projects/${id}/move`, { runnerId: on.id });
  const built = await server.reach((await server.run(id)).id, "success", "failed");
  expect(built).toMatchObject({ state: "success", runnerId: on.id });
  return { id, built, builds: () => readFileSync(builds, "utf8").trim().split("\n").length };
}

interface Service {
  port: number | null;
  state: string;
  runnerId: number;
}

async function web(projectId: number): Promise<Service | undefined> {
  const { services } = await admin.expect<{ services: Service[] }>(
    200,
    "GET",
    `/api/projects/${projectId}/services`,
  );
  return services[0];
}

/** Until the runner that serves now has reported, the earlier port is shown. */
async function answer(projectId: number, path = "/"): Promise<string> {
  let text = "";
  await eventually("the service serves", async () => {
    const service = await web(projectId);
    if (service?.state !== "serving") return false;
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, { keepalive: false }).catch(
      () => null,
    );
    text = (await response?.text()) ?? "";
    return response !== null;
  });
  return text;
}

const move = (projectId: number, to: { id: number }, more = {}) =>
  admin.expect<{ task: TaskJson; homeRunnerId: number }>(200, "POST", `/api/projects/${projectId}/move`, {
    runnerId: to.id,
    ...more,
  });
const home = async (projectId: number) =>
  (await admin.expect<{ homeRunnerId: number }>(200, "GET", `/api/projects/${projectId}`)).homeRunnerId;
const tasksOf = async (projectId: number) =>
  (await admin.expect<{ items: TaskJson[] }>(200, "GET", `/api/tasks?projectId=${projectId}`)).items;

/** What was recorded when the release that serves was sealed. */
async function digestOf(projectId: number): Promise<string> {
  const { items } = await admin.expect<{ items: { digest: string | null; isLive: boolean }[] }>(
    200,
    "GET",
    `/api/projects/${projectId}/releases`,
  );
  const digest = items.find(({ isLive }) => isLive)?.digest ?? "";
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  return digest;
}

/** Moves to the runner `two`, whose calls are disturbed, and expects that nothing has changed. */
async function failsWith(hook: Hook): Promise<string> {
  const { id, builds } = await served();
  const before = await answer(id);
  hooked.disturb(hook);
  const { task } = await move(id, two);
  const ended = await server.reach(task.id, "failed", "success");
  expect(ended.state).toBe("failed");
  expect(await answer(id)).toBe(before);
  expect(await web(id)).toMatchObject({ state: "serving" });
  expect(await home(id)).toBe(one.id);
  expect(two.machine.releases(id)).toEqual([]);
  expect(builds()).toBe(1);
  return ended.reason;
}

test("what one runner has built is served by another one after a move, without a build", async () => {
  const { id, built, builds } = await served();
  const before = await answer(id);
  const digest = await digestOf(id);
  const big = readFileSync(join(one.machine.folder, "releases", `${id}/${built.id}/source/big`));
  const { task, homeRunnerId } = await move(id, two);
  expect(task).toMatchObject({ lane: "deploy", deploys: { projectId: id, taskId: built.id } });
  expect(homeRunnerId).toBe(one.id);
  const moved = await server.reach(task.id, "success", "failed");
  expect(moved).toMatchObject({ state: "success", runnerId: two.id });
  expect(moved.stages.map(({ state }) => state)).toEqual(["skipped", "skipped", "success"]);
  expect(await answer(id)).toBe(before);
  expect(await home(id)).toBe(two.id);
  expect(builds()).toBe(1);
  const leave = (await tasksOf(id)).find(({ serviceAction }) => serviceAction?.type === "leave");
  expect(await server.reach(leave?.id ?? 0, "success", "failed")).toMatchObject({
    ...{ state: "success", runnerId: one.id, lane: "service" },
  });
  expect(two.machine.releases(id)).toEqual([String(built.id)]);
  const folder = join(two.machine.folder, "releases", `${id}/${built.id}/source`);
  expect(readFileSync(join(folder, "link"))).toEqual(big);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(["big", "empty", "link", "server.js"]));
  // The earlier runner has its data only, as its page says.
  await eventually("the releases there are gone", () => one.machine.releases(id).length === 0);
  const { items } = await admin.expect<{ items: { isKept: boolean; runnerId: number }[] }>(
    ...[200, "GET", `/api/projects/${id}/releases`],
  );
  expect(items).toMatchObject([{ isKept: true, runnerId: two.id }]);
  const back = await move(id, one);
  expect(await server.reach(back.task.id, "success", "failed")).toMatchObject({
    state: "success",
    runnerId: one.id,
  });
  expect(await home(id)).toBe(one.id);
  expect(await digestOf(id)).toBe(digest);
});

test("a runner that is disabled still ends what was moved away from it", async () => {
  const from = await register("retired");
  const { id } = await served({}, { on: from });
  const before = await answer(id);
  await admin.expect(200, "PATCH", `/api/runners/${from.id}`, { disabled: true });
  const { task } = await move(id, two);
  expect(await server.reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
  expect(await answer(id)).toBe(before);
  const leave = (await tasksOf(id)).find(({ serviceAction }) => serviceAction?.type === "leave");
  await server.reach(leave?.id ?? 0, "success", "failed");
  await eventually("the releases there are gone", () => from.machine.releases(id).length === 0);
}, 180_000);

test("a release of steps leaves the earlier runner too", async () => {
  const { id } = await served({ deploy: [{ script: "echo here", onRollback: true }], start: [] });
  expect(one.machine.releases(id).length).toBe(1);
  const { task } = await move(id, two);
  expect(await server.reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
  await eventually("the releases there are gone", () => one.machine.releases(id).length === 0);
});

test("a transfer whose connection is cut goes on, and so does what serves", async () => {
  const { id } = await served();
  const before = await answer(id);
  let calls = 0;
  hooked.disturb((path) => {
    if (!isPart(path)) return null;
    calls += 1;
    return calls === 2 || calls === 3 ? new Response("", { status: 502 }) : null;
  });
  const { task } = await move(id, two);
  expect(await server.reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
  expect(calls).toBeGreaterThan(4);
  expect(await answer(id)).toBe(before);
});

test("a complete archive of other files is not served, and the transfer was repeated once", async () => {
  const folder = temporaryFolder("others");
  writeFileSync(join(folder, "server.js"), program.replace("nothing", "evil"));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  await packFolder(folder, { keepsOwners: false }, async (part) => void parts.push(Uint8Array.from(part)));
  let completed = 0;
  const reason = await failsWith(async (path, request) => {
    if (!isPart(path)) return null;
    const { part } = (await request.clone().json()) as { part: number };
    if (part < parts.length)
      return new Response(parts[part], { headers: { "content-type": "application/octet-stream" } });
    completed += 1;
    return Response.json({ state: "complete" });
  });
  expect(reason).toMatch(/from the runner one: Its files are not those that were sealed with the SHA-256/);
  expect(completed).toBe(2);
});

test("what was changed since it was sealed is not moved, with the way out", async () => {
  const { id, built } = await served();
  const before = await answer(id);
  writeFileSync(join(one.machine.folder, "releases", `${id}/${built.id}/source/note`), "later");
  const { task } = await move(id, two);
  const ended = await server.reach(task.id, "failed", "success");
  expect(ended.reason).toContain("something has changed them on the runner one since then");
  expect(await answer(id)).toBe(before);
  expect(await home(id)).toBe(one.id);
});

test("a runner that is killed in the middle leaves nothing behind, and the move goes on when it is back", async () => {
  const { id, built } = await served();
  const before = await answer(id);
  const isReached = Promise.withResolvers<void>();
  const never = Promise.withResolvers<Response>();
  hooked.disturb(async (path, request) => {
    if (!isPart(path) || ((await request.json()) as { part: number }).part === 0) return null;
    isReached.resolve();
    return never.promise;
  });
  const { task } = await move(id, two);
  await isReached.promise;
  expect(two.machine.releases(id)).toEqual([expect.stringMatching(/^\.fetch-/)]);
  await two.machine.kill();
  never.resolve(new Response("", { status: 502 }));
  expect(await answer(id)).toBe(before);
  expect(await home(id)).toBe(one.id);
  hooked.restore();
  two.machine.restart();
  expect(await server.reach(task.id, "success", "failed", "lost")).toMatchObject({
    state: "success",
    attempt: 2,
  });
  expect(two.machine.releases(id)).toEqual([String(built.id)]);
  expect(await answer(id)).toBe(before);
}, 180_000);

test("a full disk is named, and what serves goes on", async () => {
  const small = await register("small", server.url, 12);
  const { id } = await served();
  const before = await answer(id);
  const { task } = await move(id, small);
  const ended = await server.reach(task.id, "failed", "success");
  expect(ended.state).toBe("failed");
  expect(ended.reason).toContain("The disk of this runner is full");
  expect(await answer(id)).toBe(before);
  expect(await home(id)).toBe(one.id);
  expect(small.machine.releases(id)).toEqual([]);
});

test("what is larger than the quota of the server is refused, and nothing of it stays there", async () => {
  const { id } = await served({}, { bytes: 60_000_000 });
  const before = await answer(id);
  const { task } = await move(id, two);
  const ended = await server.reach(task.id, "failed", "success");
  expect(ended.reason).toContain("The server may keep only 50 MB for transfers");
  expect(await answer(id)).toBe(before);
  expect(two.machine.releases(id)).toEqual([]);
});

test("data goes with the project only if somebody says so, while its services are stopped", async () => {
  const { id } = await served({ data: ["uploads"] });
  await answer(id, "/write");
  const before = await answer(id);
  expect(before).toContain("kept");
  const refused = await admin.expect<{ error: { message: string } }>(
    409,
    "POST",
    `/api/projects/${id}/move`,
    {
      runnerId: two.id,
    },
  );
  expect(refused.error.message).toContain("has data folders: uploads");
  const { task } = await move(id, two, { data: "with" });
  expect(await server.reach(task.id, "success", "failed")).toMatchObject({ state: "success" });
  expect(await answer(id)).toBe(before);
  const stopped = (await tasksOf(id)).filter(({ serviceAction }) => serviceAction !== null);
  expect(stopped.map(({ serviceAction }) => serviceAction?.type).toSorted()).toEqual(["leave", "stop"]);
  expect(existsSync(join(one.machine.folder, "data", String(id)))).toBe(true);
  const back = await move(id, one, { data: "with" });
  expect(await server.reach(back.task.id, "success", "failed")).toMatchObject({ state: "success" });
  expect(await answer(id)).toBe(before);
  expect(readdirSync(join(one.machine.folder, "data")).filter((name) => !/^\d+$/.test(name))).toEqual([]);
}, 180_000);

test("services that were stopped for their data start again if the move fails", async () => {
  const { id } = await served({ data: ["uploads"] });
  await answer(id, "/write");
  const before = await answer(id);
  hooked.disturb(async (path, request) => {
    if (!isPart(path)) return null;
    const { items } = await admin.expect<{ items: TaskJson[] }>(200, "GET", `/api/tasks?projectId=${id}`);
    const isData = items.some(
      ({ serviceAction, state }) => serviceAction?.type === "stop" && state === "success",
    );
    if (!isData) return null;
    void request;
    return Response.json({ state: "failed", reason: "the line is broken", isFinal: true });
  });
  const { task } = await move(id, two, { data: "with" });
  const ended = await server.reach(task.id, "failed", "success");
  expect(ended).toMatchObject({ state: "failed" });
  expect(ended.reason).toContain("the line is broken");
  expect(await home(id)).toBe(one.id);
  const again = (await tasksOf(id)).find(({ serviceAction }) => serviceAction?.type === "start");
  expect(await server.reach(again?.id ?? 0, "success", "failed")).toMatchObject({ state: "success" });
  expect(await answer(id)).toBe(before);
  expect(existsSync(join(two.machine.folder, "data", String(id)))).toBe(false);
});

const caddy = await serviceUrl("caddy");

test.skipIf(!caddy)("behind Caddy on the new runner no request fails after the switch", async () => {
  const behindCaddy = async (name: string) => {
    const httpPort = freePort();
    const runner = await register(name, server.url, 0, {
      SLIPWAY_RUNNER_PROXY: "caddy",
      SLIPWAY_RUNNER_CADDY_PROGRAM: caddy ?? "",
      SLIPWAY_RUNNER_HTTP_PORT: String(httpPort),
      SLIPWAY_RUNNER_HTTPS_PORT: String(freePort()),
    });
    const ask = () =>
      fetch(`http://127.0.0.1:${httpPort}/`, { headers: { Host: "moved.test" } })
        .then((response) => response.status)
        .catch(() => 0);
    return { ...runner, ask };
  };
  const [from, to] = [await behindCaddy("from"), await behindCaddy("to")];
  const { id } = await served({}, { on: from, web: { routes: [{ domains: ["moved.test"], tls: "off" }] } });
  expect(await from.ask()).toBe(200);
  expect(await to.ask()).not.toBe(200);
  const earlier: number[] = [];
  const { task } = await move(id, to);
  // The old one serves until the new one does.
  while ((await to.ask()) !== 200) earlier.push(await from.ask());
  const later: number[] = [];
  const isLeft = async () =>
    (await tasksOf(id)).some(
      ({ serviceAction, state }) => serviceAction?.type === "leave" && state === "success",
    );
  for (let left = false; later.length < 300 || !left; left ||= later.length % 50 === 0 && (await isLeft()))
    later.push(await to.ask());
  expect(earlier.filter((status) => status !== 200)).toEqual([]);
  expect(later.filter((status) => status !== 200)).toEqual([]);
  expect((await server.task(task.id)).state).toBe("success");
  expect(await from.ask()).not.toBe(200);
});

test("a move is refused with the reason", async () => {
  const { id } = await served();
  const gone = await admin.expect<{ id: number }>(201, "POST", "/api/runners", {
    name: "absent",
    labels: ["pool"],
  });
  const other = await admin.expect<{ error: { message: string } }>(503, "POST", `/api/projects/${id}/move`, {
    runnerId: gone.id,
  });
  expect(other.error.message).toContain("The runner absent is away");
  const gate = join(server.scratch, "gate-of-move");
  await admin.expect(200, "PATCH", `/api/projects/${id}`, {
    pipeline: { build: [{ script: `while [ ! -e ${gate} ]; do sleep 0.1; done` }] },
  });
  const { id: running } = await server.run(id);
  const busy = await admin.expect<{ error: { message: string } }>(409, "POST", `/api/projects/${id}/move`, {
    runnerId: two.id,
  });
  expect(busy.error.message).toContain(`Task ${running} of`);
  writeFileSync(gate, "");
  await server.reach(running, "success", "failed");
});

/** A project whose staging serves on the runner `one`, and whose production is promoted to the runner `two`. */
async function promoted() {
  const file = join(server.scratch, `promoted-builds-${Math.random()}`);
  const web = { command: "exec node server.js", check: { http: "/", within: 20 }, drain: 0, stopGrace: 1 };
  const environments = (env: Record<string, string>) => [
    { name: "staging", refs: ["main"] },
    { name: "production", from: "staging", env },
  ];
  const id = await server.project(
    repository.url,
    {},
    {
      pipeline: { build: [{ script: `echo x >> ${file}` }], start: { web } },
      labels: ["pool"],
      environments: environments({}),
    },
  );
  const { items } = await admin.expect<{ items: { name: string; projectId: number }[] }>(
    200,
    "GET",
    `/api/projects/${id}/environments`,
  );
  const [staging = 0, production = 0] = items.map(({ projectId }) => projectId);
  await admin.expect(200, "POST", `/api/projects/${staging}/move`, { runnerId: one.id });
  await admin.expect(200, "POST", `/api/projects/${production}/move`, { runnerId: two.id });
  const built = await server.reach((await server.run(id)).id, "success");
  const { id: taskId } = await admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/promote`, {
    from: "staging",
    to: "production",
  });
  const task = await server.reach(taskId, "success", "failed");
  expect(task).toMatchObject({ state: "success", runnerId: two.id, projectId: production });
  return {
    ...{ staging, production, built, task },
    builds: () => readFileSync(file, "utf8").trim().split("\n").length,
    setProduction: (env: Record<string, string>) =>
      admin.expect(200, "PATCH", `/api/projects/${id}`, { environments: environments(env) }),
  };
}

test("what an environment on one runner has tested is promoted to an environment on another one, at the same path", async () => {
  const { staging, production, built, builds } = await promoted();
  expect(await answer(production)).toStartWith(built.commit?.slice(0, 7) ?? "");
  expect(builds()).toBe(1);
  expect(two.machine.releases(staging)).toContain(String(built.id));
  expect(await digestOf(production)).toBe(await digestOf(staging));
  expect(await digestOf(staging)).toBe(
    (await treeDigest(join(two.machine.folder, "releases", `${staging}/${built.id}/source`))).digest,
  );
});

test("a promotion that is repeated leaves what serves its files", async () => {
  const { production, task, setProduction } = await promoted();
  const before = await answer(production);
  await setProduction({ BROKEN: "yes" });
  const again = await admin.expect<{ id: number }>(201, "POST", `/api/tasks/${task.id}/rerun`);
  expect((await server.reach(again.id, "failed", "success")).state).toBe("failed");
  expect(await answer(production)).toBe(before);
});

test("an environment that serves a promoted release is moved with its files", async () => {
  const { staging, production, built, builds } = await promoted();
  const before = await answer(production);
  const moved = async (to: typeof one) => {
    const { task } = await move(production, to);
    expect(await server.reach(task.id, "success", "failed")).toMatchObject({ state: "success", reason: "" });
    expect(await home(production)).toBe(to.id);
    expect(await answer(production)).toBe(before);
  };
  await moved(one);
  expect(one.machine.releases(staging)).toEqual([String(built.id)]);
  await eventually("the files on the runner two are gone", () => two.machine.releases(staging).length === 0);
  // Now the files come from another environment's release.
  await moved(two);
  expect(two.machine.releases(staging)).toEqual([String(built.id)]);
  expect(builds()).toBe(1);
}, 180_000);
