import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { type ApiServer, signInAt, startApiServer } from "../support/api-server.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { deployClient } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { pick } from "../support/length.ts";
import { registerRunner } from "../support/protocol-runner.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const postgres = (await availableDatabases()).find(({ name }) => name === "PostgreSQL");
const projects = pick(8, 20);
const tasks = pick(40, 200);

/** Each run records itself, and whether another task of its project ran at the same time. */
const script = `
mkdir "$NOTES/lock-$CI_PROJECT_ID" || echo "$CI_PROJECT_ID" >>"$NOTES/clashes"
echo "$CI_TASK_ID" >>"$NOTES/ran"
sleep 0.02
rmdir "$NOTES/lock-$CI_PROJECT_ID"
`;

describe.skipIf(!postgres)("two instances on PostgreSQL with three runners", () => {
  const instances: ApiServer[] = [];
  const runners: ReturnType<typeof startRunnerProcess>[] = [];
  let database: TestDatabase;
  let repository: GitRepository;
  let notes: string;

  beforeAll(async () => {
    if (!postgres) return;
    database = await postgres.make();
    notes = temporaryFolder("notes");
    mkdirSync(notes, { recursive: true });
    repository = await makeRepository();
    await repository.push({ "app.txt": "one\n" });
    const settings = {
      "database.url": database.url,
      "data.encryptionKey": Buffer.alloc(32, 7).toString("base64"),
      "tasks.allowLocalRepositories": true,
    };
    for (let each = 0; each < 2; each += 1) instances.push(await startApiServer(settings));
    for (let each = 0; each < 3; each += 1) {
      const instance = instances[each % 2] as ApiServer;
      const { token } = await registerRunner(instance.url, instance.admin, { name: `runner ${each}` });
      runners.push(startRunnerProcess(instance.url, token, 2));
    }
  });
  afterAll(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    for (const instance of instances) await instance.stop();
    await database.remove();
  });

  test(`${tasks} tasks over ${projects} projects: each runs exactly once, never two of one project together`, async () => {
    const clients = await Promise.all(
      instances.map(async ({ url, dataDir }) => ({
        ...(await deployClient(url, dataDir)),
        admin: await signInAt(url, "admin", "the admin password of tests"),
      })),
    );
    const client = (index: number) => clients[index % clients.length] as (typeof clients)[number];
    const projectIds = await Promise.all(
      Array.from({ length: projects }, (_, index) =>
        client(index).project(repository.url, { build: script }, { env: { NOTES: notes } }),
      ),
    );
    await eventually("all runners are online", async () => {
      type Runners = { items: { online: boolean }[] };
      const { items } = await client(0).admin.expect<Runners>(200, "GET", "/api/runners");
      return items.filter(({ online }) => online).length === 3;
    });
    // One after the other for each project: of two at once, the later number may be stored first.
    const rounds = Array.from({ length: tasks / projects }, (_, round) => round);
    const ofProjects = await Promise.all(
      projectIds.map(async (id, place) => {
        const own: { id: number }[] = [];
        for (const round of rounds) own.push(await client(place + round).run(id));
        return own;
      }),
    );
    const made = ofProjects.flat();
    await eventually(
      "all tasks are over",
      async () => {
        const path = "/api/tasks?state=success&pageSize=1";
        return (await client(0).admin.expect<{ total: number }>(200, "GET", path)).total === tasks;
      },
      120_000,
    );
    const ran = readFileSync(join(notes, "ran"), "utf8").trim().split("\n").map(Number);
    expect(ran.toSorted((a, b) => a - b)).toEqual(made.map(({ id }) => id).toSorted((a, b) => a - b));
    expect(existsSync(join(notes, "clashes"))).toBe(false);
    const rows = await Promise.all(made.map(({ id }) => client(0).task(id)));
    expect(rows.filter(({ attempt }) => attempt !== 1)).toEqual([]);
    expect(new Set(rows.map(({ runnerId }) => runnerId)).size).toBe(3);
    expect(startedInOrder(rows)).toBe(true);
  }, 150_000);
});

/** The tasks of each project started in the order of their creation. */
function startedInOrder(rows: TaskJson[]): boolean {
  const byProject = Map.groupBy(rows, (row) => row.projectId);
  return [...byProject.values()].every((ofProject) => {
    const begun = ofProject.toSorted((a, b) => a.id - b.id).map(({ startedAt }) => startedAt ?? "");
    return begun.every((at, index) => index === 0 || at >= (begun[index - 1] ?? ""));
  });
}
