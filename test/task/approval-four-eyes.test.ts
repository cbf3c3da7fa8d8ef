import { describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { answer, guardedProject, memberOf } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository, commit } = await setUpDeploy({ "runner.hostSteps": true });
const { admin } = server;

interface Person {
  username: string;
}
interface WaitingTask {
  approval: { mayApprove: Person[]; excluded: (Person & { because: string })[]; needsReason: boolean };
}

let scenes = 0;

/** A project with notByPusher whose first release is approved: what comes next is compared with it. */
async function scene(deploy: object = {}) {
  const place = { url: repository.url, dataDir: server.dataDir };
  const { id, file, deployed } = await guardedProject(server, place, { notByPusher: true, ...deploy });
  const mark = `eyes-${++scenes}`;
  const bo = await memberOf(server, id, `${mark}-bo`);
  const cy = await memberOf(server, id, `${mark}-cy`);
  const path = `/api/projects/${id}`;
  const startedBy = async (as: ApiClient, body: object = {}) => {
    const { id: taskId } = await as.expect<{ id: number }>(201, "POST", `${path}/tasks`, body);
    await server.reach(taskId, "waiting");
    return taskId;
  };
  const first = await startedBy(bo);
  await answer(cy, first, "approve");
  await server.reach(first, "success");
  return { id, file, deployed, path, bo, cy, mark, first, startedBy };
}

async function approversOf(id: number) {
  const { approval } = await admin.expect<WaitingTask>(200, "GET", `/api/tasks/${id}`);
  return {
    may: approval.mayApprove.map(({ username }) => username),
    excluded: Object.fromEntries(approval.excluded.map(({ username, because }) => [username, because])),
    needsReason: approval.needsReason,
  };
}

async function refusedWith(as: ApiClient, id: number): Promise<string> {
  return JSON.stringify(await answer(as, id, "approve", 403));
}

describe("what is approved is what is deployed", () => {
  test("name, steps, host steps, image, isolation and limits are those of the request", async () => {
    const place = { url: repository.url, dataDir: server.dataDir };
    const { id, file, deployed } = await guardedProject(server, place);
    const step = (name: string) => ({
      name,
      script: `echo "${name} $CI_PROJECT_NAME $COLOR $(nice)" >> ${file}`,
    });
    const path = `/api/projects/${id}`;
    const { name } = await admin.expect<{ name: string }>(200, "PATCH", path, {
      pipeline: { deploy: [step("one"), { ...step("two"), host: true }] },
      limits: { nice: 3 },
    });
    const task = await server.reach((await server.run(id)).id, "waiting");
    await admin.expect(200, "PATCH", path, {
      name: `${name}-renamed`,
      pipeline: { deploy: [{ name: "two", script: `echo hacked >> ${file}`, host: true }] },
      env: { COLOR: "blue" },
      image: "example.org/other:1",
      isolation: "container",
      limits: { nice: 9 },
    });
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual([`one ${name} red 3`, `two ${name} red 3`]);
  });
});

test("the changes of a task with an approval name what else was pinned", async () => {
  const { path, bo, startedBy } = await scene();
  const { name } = await admin.expect<{ name: string }>(200, "GET", path);
  const renamed = `${name}-later`;
  await admin.expect(200, "PATCH", path, { name: renamed, limits: { nice: 4 }, git: { submodules: true } });
  const task = await startedBy(bo);
  const changes = await bo.expect<{ settings: object[] }>(200, "GET", `/api/tasks/${task}/changes`);
  expect(changes.settings).toEqual([
    { setting: "name", serving: name, task: renamed },
    { setting: "git.submodules", serving: null, task: "true" },
    { setting: "limits.nice", serving: "0", task: "4" },
  ]);
});

describe("notByPusher", () => {
  test("a manager who changed the pipeline or a variable may not approve it, until another person has", async () => {
    const { id, path, bo, cy, mark, startedBy } = await scene();
    await cy.expect(200, "PATCH", path, { env: { COLOR: "green" }, pipeline: { scratch: ["tmp"] } });
    const task = await startedBy(bo);
    expect(await refusedWith(cy, task)).toContain(`${mark}-cy changed what it deploys: env, pipeline.`);
    expect(await refusedWith(bo, task)).toContain("These people may: admin.");
    expect(await approversOf(task)).toEqual({
      may: ["admin"],
      excluded: {
        [`${mark}-bo`]: `${mark}-bo pushed, started or sent this task.`,
        [`${mark}-cy`]: `${mark}-cy changed what it deploys: env, pipeline.`,
      },
      needsReason: false,
    });
    const di = await memberOf(server, id, `${mark}-di`);
    expect((await approversOf(task)).may).toEqual(["admin", `${mark}-di`]);
    expect(await answer(di, task, "approve")).not.toHaveProperty("approval.override");
    await server.reach(task, "success");
    // The change was approved with that release.
    const next = await startedBy(bo);
    await answer(cy, next, "approve");
    await server.reach(next, "success");
  });

  test("a change between the request and the deploy of a release is none of that release", async () => {
    const { path, bo, cy, startedBy } = await scene();
    const task = await startedBy(bo);
    await cy.expect(200, "PATCH", path, { env: { COLOR: "late" } });
    // It is not in this deploy either.
    await answer(cy, task, "approve");
    await server.reach(task, "success");
    const next = await startedBy(bo);
    expect(await refusedWith(cy, next)).toContain("changed what it deploys: env.");
  });

  test("secrets, the credential and the rule count, also when they change after the request", async () => {
    const { path, bo, cy, mark, startedBy } = await scene();
    const task = await startedBy(bo);
    await cy.expect(200, "PATCH", path, { deploy: { expiresAfterMinutes: 999 } });
    await cy.expect(204, "PUT", `${path}/secrets/TOKEN`, { value: "abc", scope: "deploy" });
    await cy.expect(204, "PATCH", `${path}/secrets/TOKEN`, { as: "file" });
    await cy.expect(204, "PUT", `${path}/credential`, { type: "token", token: "t" });
    await cy.expect(204, "DELETE", `${path}/credential`);
    expect(await refusedWith(cy, task)).toContain(
      "changed what it deploys: credential, deploy, secrets.TOKEN.",
    );
    expect((await approversOf(task)).excluded[`${mark}-cy`]).toContain("secrets.TOKEN");
    // A setting that is not deployed does not count, and neither does one that was sent as it is.
    const { env } = await bo.expect<{ env: object }>(200, "GET", path);
    const ed = await memberOf(server, Number(path.split("/").at(-1)), `${mark}-ed`);
    await ed.expect(200, "PATCH", path, { env, supersede: "queued", publicUrl: "https://example.org" });
    const next = await startedBy(bo);
    await answer(ed, next, "approve");
  });

  test("a deploy that needed no approval hides no change", async () => {
    const { path, bo, cy, startedBy } = await scene({ branches: ["main"] });
    await cy.expect(200, "PATCH", path, { env: { COLOR: "hidden" } });
    await repository.git("push", "-q", "origin", `${commit}:refs/heads/side`);
    const { id } = await cy.expect<{ id: number }>(201, "POST", `${path}/tasks`, { ref: "side" });
    await server.reach(id, "success");
    expect(await refusedWith(cy, await startedBy(bo))).toContain("changed what it deploys: env.");
  });

  test("a rollback has the pipeline of its release, so that changes of the project's do not count", async () => {
    const { path, bo, cy, first, startedBy } = await scene();
    const second = await startedBy(bo);
    await answer(cy, second, "approve");
    await server.reach(second, "success");
    await cy.expect(200, "PATCH", path, { env: { COLOR: "unused" } });
    const back = await bo.expect<{ id: number }>(201, "POST", `${path}/rollback`, { taskId: first });
    await server.reach(back.id, "waiting");
    await answer(cy, back.id, "approve");
    await server.reach(back.id, "success");
  });

  test("after a rollback, changes since the release that serves count again", async () => {
    const { path, bo, cy, first, startedBy } = await scene();
    await cy.expect(200, "PATCH", path, { env: { COLOR: "bad" } });
    const second = await startedBy(bo);
    await answer(admin, second, "approve");
    await server.reach(second, "success");
    const back = await bo.expect<{ id: number }>(201, "POST", `${path}/rollback`, { taskId: first });
    await server.reach(back.id, "waiting");
    await answer(cy, back.id, "approve");
    await server.reach(back.id, "success");
    expect(await refusedWith(cy, await startedBy(bo))).toContain("changed what it deploys: env.");
  });

  test("a person who stored the secret of the webhook could have named another pusher", async () => {
    const { path, bo, cy, startedBy } = await scene();
    await cy.expect(200, "PUT", `${path}/webhook`, { enabled: true, secret: "a-secret-of-some-length" });
    expect(await refusedWith(cy, await startedBy(bo))).toContain("webhook.secret");
    await admin.expect(200, "PUT", `${path}/webhook`, { enabled: false });
  });

  test("if nobody is left, an administrator approves with a written reason, which is kept", async () => {
    const { path, bo, cy, deployed, startedBy } = await scene();
    await cy.expect(200, "PATCH", path, { env: { COLOR: "pink" } });
    await admin.expect(204, "PUT", `${path}/secrets/KEY`, { value: "abc" });
    const task = await startedBy(bo);
    expect(await approversOf(task)).toMatchObject({ may: [], needsReason: true });
    for (const manager of [bo, cy])
      expect(await refusedWith(manager, task)).toContain("only an administrator");
    for (const comment of ["", " ok  \n "]) {
      const refused = await answer(admin, task, "approve", 422, comment);
      expect(refused).toMatchObject({ error: { fields: [{ field: "comment" }] } });
    }
    // A token without the scope admin is no administrator.
    const { token } = await admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      name: "eyes",
      scopes: ["write"],
    });
    const byToken = await fetch(`${server.url}/api/tasks/${task}/approve`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ comment: "a long enough reason" }),
    });
    expect(byToken.status).toBe(403);
    const reason = "the only other manager is on leave";
    expect(await answer(admin, task, "approve", 200, reason)).toMatchObject({
      reason: `approved by admin, because nobody else may: ${reason}`,
      approval: { state: "approved", by: "admin", comment: reason, override: true },
    });
    await server.reach(task, "success");
    expect(deployed().at(-1)).toContain("pink");
    const audit = await admin.expect<{ items: { subject: string; detail: object }[] }>(
      200,
      "GET",
      "/api/audit?action=task.approve",
    );
    expect(audit.items.find(({ subject }) => subject === `task ${task}`)?.detail).toMatchObject({
      override: true,
      comment: reason,
    });
  });

  test("the first deploy of a project is not approved by the person who created it", async () => {
    const place = { url: repository.url, dataDir: server.dataDir };
    const { id } = await guardedProject(server, place, { notByPusher: true });
    const task = await server.reach((await server.run(id)).id, "waiting");
    expect((await approversOf(task.id)).needsReason).toBe(true);
    const other = await guardedProject(server, place, { notByPusher: true });
    const fay = await memberOf(server, other.id, "first-fay");
    await memberOf(server, other.id, "first-gil");
    const { id: started } = await fay.expect<{ id: number }>(
      201,
      "POST",
      `/api/projects/${other.id}/tasks`,
      {},
    );
    await server.reach(started, "waiting");
    expect(await refusedWith(admin, started)).toContain(
      "admin changed what it deploys: env, git, name, pipeline.",
    );
    expect((await approversOf(started)).may).toEqual(["first-gil"]);
  });
});
