import { describe, expect, test } from "bun:test";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
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
    // Somebody else has the username of ann at the Git host.
    expect(await pushedBy("ann")).toEqual([]);
    expect(await pushedBy("bob")).toEqual(["bob"]);
    expect(await pushedBy("bob-at-sso")).toEqual([]);
    // Who starts a task is named by the username here.
    expect(await excludedFor({ triggerType: "manual", triggeredBy: "ann", author: "cleo" })).toEqual([
      "ann",
      "cleo",
    ]);
  });
});
