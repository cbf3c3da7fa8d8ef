import { describe, expect, test } from "bun:test";
import { noApproval } from "../../src/model/approval/deploy-rule.ts";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
import { answerApproval, endApprovals } from "../../src/task/approval/answer-approval.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleProject, sampleTask } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("requests for approval on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  test("an expired one cannot be approved, and is canceled", async () => {
    const project = await store.projects.create(sampleProject());
    const { git, stages, env, image } = project;
    const approval: TaskApproval = {
      state: "waiting",
      notByPusher: false,
      expiresAfterMinutes: noApproval.expiresAfterMinutes,
      requestedAt: new Date(0).toISOString(),
      expiresAt: new Date(1).toISOString(),
      by: null,
      at: null,
      comment: "",
      pinned: { git, stages, env, image },
      built: { taskId: 1, attempt: 1, runnerId: 1 },
    };
    const { id } = await store.tasks.create(sampleTask({ projectId: project.id }));
    await store.tasks.change(id, { whileIn: ["queued"], set: { state: "waiting", approval } });
    expect(await store.tasks.unfinishedOfProject(project.id)).toEqual([]);
    const fault = await failureOf(
      store.run(answerApproval, { id, isApproved: true, username: "ann", comment: "" }),
    );
    expect(String(fault)).toContain("has expired");
    const ended = await store.run(endApprovals, null);
    expect(ended.map(({ task }) => task.id)).toContain(id);
    expect(await store.tasks.byId(id)).toMatchObject({
      state: "canceled",
      reason: "nobody approved it in time",
      approval: { state: "expired" },
    });
  });
});
