import { describe, expect, test } from "bun:test";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
import type { Project } from "../../src/model/project.ts";
import type { Task } from "../../src/model/task.ts";
import { approversOf } from "../../src/task/approval/approvers.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("notByPusher on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const manager = async (username: string) =>
    store.users.create({ username, passwordHash: "", role: "admin", createdAt: sampleTime });
  const link = (userId: number, host: string, login: string) =>
    store.identities.create({
      ...{ userId, issuer: `https://${host}`, subject: login, provider: "git", host, login },
      ...{ createdAt: sampleTime, lastUsedAt: sampleTime },
    });

  test("counts who started the build of a release that another person promotes", async () => {
    await manager("mallory");
    await manager("bert");
    const [dev, staging, production] = await Promise.all(
      ["dev", "staging", "production"].map((name) => store.projects.create(sampleProject({ name }))),
    );
    if (!dev || !staging || !production) throw new Error("A project is missing.");
    const by = (user: string) => ({ triggerType: "manual", triggeredBy: user, author: user }) as const;
    const built = await store.tasks.create(sampleTask({ projectId: dev.id, ...by("mallory") }));
    const promoted = async (from: Task, to: Project) =>
      store.tasks.create(
        sampleTask({
          ...{ projectId: to.id, ...by("bert") },
          deploys: { projectId: from.projectId, taskId: from.id, digest: null },
        }),
      );
    const task = await promoted(await promoted(built, staging), production);
    const approval = { notByPusher: true } as TaskApproval;
    const { excluded } = await approversOf(store, { ...task, approval }, production);
    expect(excluded.map(({ username }) => username)).toEqual(["bert", "mallory"]);
  });

  test("compares the account at the project's Git host of those who are linked there, and the names of others", async () => {
    const [ann, bob] = [await manager("ann"), await manager("bob")];
    await manager("cleo");
    await link(ann.id, "git.example.com", "ann-at-git");
    await link(bob.id, "sso.example.com", "bob-at-sso");
    const project = await store.projects.create(
      sampleProject({ git: { ...sampleProject().git, url: "git@git.example.com:shop/shop.git" } }),
    );
    const excludedFor = async (changes: Partial<Task>) => {
      const task = await store.tasks.create(sampleTask({ projectId: project.id, ...changes }));
      const approval = { notByPusher: true } as TaskApproval;
      const { excluded } = await approversOf(store, { ...task, approval }, project);
      return excluded.map(({ username }) => username);
    };
    const pushedBy = (author: string) => excludedFor({ triggerType: "webhook", triggeredBy: author, author });
    expect(await pushedBy("Ann-At-Git")).toEqual(["ann"]);
    // A second account does not hide the username.
    expect(await pushedBy("ann")).toEqual(["ann"]);
    const { id: danId } = await manager("dan");
    const { id: linkedId } = await link(danId, "git.example.com", "ann");
    // Somebody else has the username of ann at the Git host.
    expect(await pushedBy("ann")).toEqual(["dan"]);
    await store.identities.delete(linkedId);
    expect(await pushedBy("ann")).toEqual(["ann", "dan"]);
    expect(await pushedBy("bob")).toEqual(["bob"]);
    expect(await pushedBy("bob-at-sso")).toEqual([]);
    // Who starts a task is named by the username here.
    expect(await excludedFor({ triggerType: "manual", triggeredBy: "ann", author: "cleo" })).toEqual([
      "ann",
      "cleo",
    ]);
  });
});
