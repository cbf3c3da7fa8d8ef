import { expect, test } from "bun:test";
import { readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy();
const projectId = await server.project(repository.url, {
  deploy: "git log -1 --format='deployed %H'; git cat-file -p HEAD:app.txt; git fsck --connectivity-only",
});
const clone = join(server.runnerDir, "cache", `project-${projectId}.git`);
const packs = join(clone, "objects/pack");

async function deploy(content: string) {
  const commit = await repository.push({ "app.txt": `${content}\n` });
  return { commit, content, task: await server.reach((await server.run(projectId)).id, "success") };
}

async function rollBack({ commit, content, task }: Awaited<ReturnType<typeof deploy>>) {
  const path = `/api/projects/${projectId}/rollback`;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", path, { taskId: task.id });
  const rollback = await server.reach(id, "success", "failed");
  const text = textOf(await server.log(id));
  expect(rollback.reason).toBe("");
  // The kept workspace was used, not a new checkout.
  expect(text).toContain(`commit ${commit} from the kept workspace of task ${task.id}`);
  expect(text).toContain(`deployed ${commit}\n${content}`);
}

test("scripts of a kept release can use git, whatever becomes of the cached clone", async () => {
  const first = await deploy("first");
  // As after many fetches: the packs are merged, and objects of earlier commits go.
  for (let index = 0; index < 200; index++) writeFileSync(join(packs, `pack-${index}.rev`), "");
  const unfinished = join(packs, "tmp_pack_killed");
  writeFileSync(unfinished, "half a pack");
  utimesSync(unfinished, 0, 0);
  const second = await deploy("second");
  expect(readdirSync(packs).filter((name) => !/\.(idx|rev)$/.test(name))).toHaveLength(1);
  await rollBack(first);
  rmSync(clone, { recursive: true });
  await rollBack(second);
  await deploy("third");
});
