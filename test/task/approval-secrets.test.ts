import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { answer, guardedProject } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository, commit } = await setUpDeploy();
const { admin } = server;
const guarded = (more: object = {}) =>
  guardedProject(server, { url: repository.url, dataDir: server.dataDir }, {}, more);
const store = (id: number, name: string, value: string) =>
  admin.expect(204, "PUT", `/api/projects/${id}/secrets/${name}`, { value });
const requested = async (projectId: number) => server.reach((await server.run(projectId)).id, "waiting");

describe("a secret that is stored after the approval was requested", () => {
  test("and replaces a variable needs a new approval, which says so", async () => {
    const { id, deployed } = await guarded();
    const task = await requested(id);
    await store(id, "COLOR", "black-and-secret");
    const refused = await answer(admin, task.id, "approve", 409);
    expect(JSON.stringify(refused)).toContain("replace variables of the same name");
    expect(JSON.stringify(refused)).toContain("COLOR");
    const asked = await server.task(task.id);
    expect(asked).toMatchObject({ state: "waiting", approval: { state: "waiting", by: null } });
    expect(asked.reason).toContain("needs a new approval: COLOR.");
    expect(deployed()).toEqual([]);
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual([`${commit} black-and-secret 1`]);
  });

  test("and approved before it was stored waits again instead of deploying", async () => {
    const gate = `${server.scratch}/gate`;
    const { id, deployed } = await guarded();
    const task = await requested(id);
    // The project has one place: the approved deploy stays in the queue.
    await admin.expect(200, "PATCH", `/api/projects/${id}`, {
      stages: { build: { script: `while [ ! -e ${gate} ]; do sleep 0.02; done` } },
    });
    const other = await server.run(id, { actions: { deploy: false, start: false } });
    await server.reach(other.id, "running");
    await answer(admin, task.id, "approve");
    await store(id, "ADDED", "added-later");
    writeFileSync(gate, "");
    const asked = await server.reach(task.id, "waiting");
    expect(asked.reason).toContain("needs a new approval: ADDED.");
    expect(deployed()).toEqual([]);
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toHaveLength(1);
  });

  test("and has a known name is a new value, which needs none; rejecting needs no second answer", async () => {
    const { id, deployed } = await guarded();
    await store(id, "COLOR", "first-value");
    const task = await requested(id);
    await store(id, "COLOR", "second-value");
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual([`${commit} second-value 1`]);
    const other = await requested(id);
    await store(id, "ADDED", "added-later");
    await answer(admin, other.id, "reject");
    expect((await server.task(other.id)).state).toBe("canceled");
  });
});
