import { expect, test } from "bun:test";
import { join } from "node:path";
import { messageOf } from "../../src/errors.ts";
import { openRemote } from "../../src/git/remote.ts";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { buildCli } from "../support/cli.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import { blackHole, silentHost, stallingHost } from "../support/silent-hosts.ts";

const { server, repository } = await setUpDeploy();
await repository.push({ "app.txt": crypto.getRandomValues(Buffer.alloc(40_000)).toString("base64") });

const busy = "waiting: every runner that may take it is busy: local on ";
const elapsedOf = ({ startedAt, finishedAt }: TaskJson) =>
  (Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "")) / 1000;

test("Git hosts that hang are given up in time, and meanwhile no other project waits for them", async () => {
  const root = repository.url.replace(/\/[^/]+$/, "");
  const name = repository.url.slice(root.length + 1);
  const good = await server.project(repository.url, { deploy: "true" });
  const first = await server.reach((await server.run(good)).id, "success");
  await repository.push({ "app.txt": "changed" });
  await server.reach((await server.run(good)).id, "success");

  const hosts = {
    "sends nothing over http": `http://127.0.0.1:${silentHost()}/x.git`,
    "makes no TLS handshake": `https://127.0.0.1:${silentHost()}/x.git`,
    "stops in the middle of a pack": `${stallingHost(root)}/${name}`,
    "accepts no connection": `https://127.0.0.1:${await blackHole()}/x.git`,
  };
  const polled = Promise.all(
    ["sends nothing over http", "makes no TLS handshake", "accepts no connection"].map(async (host) =>
      messageOf(await failureOf(refsOf(hosts[host as keyof typeof hosts]))),
    ),
  );
  const hung = new Map<string, number>();
  for (const [host, url] of Object.entries(hosts))
    hung.set(host, (await server.run(await server.project(url, { deploy: "true" }))).id);
  await eventually("two of them are being fetched, and say so", async () => {
    const waits = await Promise.all([...hung.values()].map(async (id) => (await server.task(id)).waiting));
    return (
      waits.filter((text) => text === "waiting: its Git host has not sent the whole commit yet").length >= 2
    );
  });

  const other = await server.reach((await server.run(good)).id, "success");
  expect(other.state).toBe("success");

  const gate = join(server.scratch, "gate");
  const slow = `while [ ! -e ${gate} ]; do sleep 0.05; done`;
  const builds = await Promise.all(
    [1, 2].map(async () => (await server.run(await server.project(repository.url, { build: slow }))).id),
  );
  for (const id of builds) await server.reach(id, "running");
  const next = await server.run(await server.project(repository.url, { build: "true" }));
  await eventually("the queued task says why it waits", async () => {
    const { state, waiting } = await server.task(next.id);
    return state === "queued" && waiting?.startsWith(busy) === true;
  });
  const list = await buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: await tokenOf() })(["task", "list"]);
  expect(list.stdout).toContain(busy);

  const rollback = await server.admin.expect<TaskJson>(201, "POST", `/api/projects/${good}/rollback`, {});
  expect(await server.reach(rollback.id, "success")).toMatchObject({ rollbackTo: first.id });
  for (const id of builds) expect(await server.task(id)).toMatchObject({ state: "running" });
  await Bun.write(gate, "");
  await server.reach(next.id, "success");

  for (const [host, id] of hung) {
    const task = await server.reach(id, "failed");
    const [reason, seconds] =
      host === "accepts no connection"
        ? ["127.0.0.1 accepted no connection within 15 s", 15]
        : ["the Git host sent nothing for 30 s", 30];
    expect([host, task.reason]).toEqual([host, `git could not fetch main: ${reason}`]);
    expect(elapsedOf(task)).toBeGreaterThan(seconds - 2);
    expect(elapsedOf(task)).toBeLessThan(seconds + 15);
  }
  const silent = "git could not list the branches and tags: the Git host sent nothing for 30 s";
  expect(await polled).toEqual([
    silent,
    silent,
    "git could not read the repository: 127.0.0.1 accepted no connection within 15 s",
  ]);
}, 180_000);

/** As a poll of the server reads them. */
async function refsOf(url: string): Promise<unknown> {
  const remote = await openRemote({
    remote: { url, credential: null, allowLocal: true, trusted: [] },
    ...{ allowInternal: true, temp: server.dataDir, knownHosts: join(server.dataDir, "known_hosts") },
    ...{ env: process.env, stop: new AbortController().signal, beforeEach: async () => {} },
  });
  try {
    return await remote.refs(["heads"]);
  } finally {
    remote.close();
  }
}

async function tokenOf(): Promise<string> {
  const body = { name: "list", scopes: ["read"] };
  return (await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", body)).token;
}
