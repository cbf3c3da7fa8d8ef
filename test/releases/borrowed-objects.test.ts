import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy();
const clone = (projectId: number) => join(server.dataDir, "runner/cache", `project-${projectId}.git`);
const packs = (projectId: number) => join(clone(projectId), "objects/pack");

/** Each deploy reads its own commit, whose objects are in the cached clone. */
const script = { deploy: "git log -1 --format='deployed %H'; git cat-file -p HEAD:app.txt" };

async function deploy(projectId: number, content: string) {
  const commit = await repository.push({ "app.txt": `${content}\n` });
  return { commit, content, task: await server.reach((await server.run(projectId)).id, "success") };
}

async function rollBack(projectId: number, { commit, content, task }: Awaited<ReturnType<typeof deploy>>) {
  const { id } = await server.admin.expect<{ id: number }>(
    201,
    "POST",
    `/api/projects/${projectId}/rollback`,
    {
      taskId: task.id,
    },
  );
  const rollback = await server.reach(id, "success", "failed");
  const text = textOf(await server.log(id));
  expect(rollback.reason).toBe("");
  // The kept workspace was used, not a new checkout.
  expect(text).toContain(`commit ${commit} from the kept workspace of task ${task.id}`);
  expect(text).toContain(`deployed ${commit}\n${content}`);
}

describe("a kept release can be rolled back to with scripts that use git", () => {
  const damages = {
    "its settings": (projectId: number) => writeFileSync(join(clone(projectId), "config"), "\0\0[core"),
    "its head": (projectId: number) => writeFileSync(join(clone(projectId), "HEAD"), "nonsense"),
    "its head, which is missing": (projectId: number) => rmSync(join(clone(projectId), "HEAD")),
    "a lock": (projectId: number) => writeFileSync(join(clone(projectId), "shallow.lock"), ""),
  };
  test("after the cached clone was damaged", async () => {
    for (const [name, damage] of Object.entries(damages)) {
      const projectId = await server.project(repository.url, script);
      const first = await deploy(projectId, `first, ${name}`);
      damage(projectId);
      const second = await deploy(projectId, `second, ${name}`);
      await rollBack(projectId, first);
      await rollBack(projectId, second);
      await deploy(projectId, `third, ${name}`);
    }
  });

  test("after the packs of the cached clone were merged, however old it is", async () => {
    const projectId = await server.project(repository.url, script);
    const first = await deploy(projectId, "old");
    const old = new Date(Date.now() - 30 * 24 * 3_600_000);
    for (const name of readdirSync(join(clone(projectId), "objects"), { recursive: true }))
      utimesSync(join(clone(projectId), "objects", String(name)), old, old);
    // As after many fetches.
    for (let index = 0; index < 200; index++) writeFileSync(join(packs(projectId), `pack-${index}.rev`), "");
    await deploy(projectId, "new");
    expect(readdirSync(packs(projectId)).filter((name) => name.endsWith(".pack"))).toHaveLength(1);
    await rollBack(projectId, first);
  });
});
