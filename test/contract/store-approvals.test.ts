import { describe, expect, test } from "bun:test";
import { noApproval } from "../../src/model/approval/deploy-rule.ts";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
import type { Project } from "../../src/model/project.ts";
import { sealedPurpose } from "../../src/model/sealed.ts";
import { workedMs } from "../../src/model/task.ts";
import { buildSecrets, keyBytes } from "../../src/secrets.ts";
import { answerApproval, endApprovals } from "../../src/task/approval/answer-approval.ts";
import { prepareApproval } from "../../src/task/approval/request-approval.ts";
import { instructionFor } from "../../src/task/hand-out/instruction.ts";
import { claimTask, expireLease, finishTask } from "../../src/task/queue.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { sampleAuditEntry, sampleProject, sampleRunner, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("requests for approval on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  /** A task that waits until this time, with its workspace at this runner. */
  async function waitingTask(project: Project, expiresAt: Date, runnerId = 1) {
    const { git, pipeline, env, image } = project;
    const { id } = await store.tasks.create(sampleTask({ projectId: project.id }));
    const approval: TaskApproval = {
      state: "waiting",
      secretNames: [],
      notByPusher: false,
      expiresAfterMinutes: noApproval.expiresAfterMinutes,
      requestedAt: new Date(0).toISOString(),
      expiresAt: expiresAt.toISOString(),
      by: null,
      at: null,
      comment: "",
      pinned: { git, pipeline, env, image },
      built: { taskId: id, attempt: 1, runnerId },
    };
    const set = { state: "waiting", approval, runnerId, attempt: 1 } as const;
    await store.tasks.change(id, { whileIn: ["queued"], set });
    return id;
  }
  const approve = (id: number) =>
    store.run(answerApproval, {
      ...{ id, isApproved: true, isAdmin: false, comment: "", consoleUrl, audited: sampleAuditEntry },
    });
  const consoleUrl = "https://slipway.example";
  const later = new Date(Date.now() + 3_600_000);

  test("an expired one cannot be approved and is canceled; more than two hundred others stay", async () => {
    const project = await store.projects.create(sampleProject());
    const id = await waitingTask(project, new Date(1));
    for (let count = 0; count < 205; count++) await waitingTask(project, later);
    expect(await store.tasks.unfinishedOfProject(project.id)).toEqual([]);
    expect(String(await failureOf(approve(id)))).toContain("has expired");
    const ended = await store.run(endApprovals, { consoleUrl });
    expect(ended.map(({ task }) => task.id)).toEqual([id]);
    expect(await store.tasks.byId(id)).toMatchObject({
      state: "canceled",
      reason: { code: "approval_expired" },
      approval: { state: "expired" },
    });
    expect((await store.tasks.waiting(project.id)).length).toBe(205);
    expect((await store.tasks.countByState()).waiting).toBe(205);
  });

  test("an approved one is claimed by the runner with its workspace only, or by another one when that runner is gone", async () => {
    const one = await store.runners.create(sampleRunner("one"));
    const two = await store.runners.create(sampleRunner("two"));
    const now = await store.now();
    for (const { id } of [one, two]) await store.runners.update(id, { lastSeenAt: now });
    const project = await store.projects.create({
      ...sampleProject({ name: "bound" }),
      deploy: { ...noApproval, approval: "required" },
    });
    const id = await waitingTask(project, later, one.id);
    await approve(id);
    const claim = (runnerId: number, more: object = {}) =>
      store.run(claimTask, { runnerId, leaseHash: `lease ${runnerId}`, leaseUntil: later, now, ...more });
    const goneBefore = new Date(now.getTime() - 90_000);
    expect(await claim(two.id, { goneBefore })).toBeNull();
    // A project of which one task waits for its runner is not blocked for the others.
    await store.projects.update(project.id, { deploy: noApproval });
    const other = await store.tasks.create(sampleTask({ projectId: project.id }));
    expect((await claim(two.id, { goneBefore }))?.id).toBe(other.id);
    await store.tasks.change(other.id, { whileIn: ["dispatched"], set: { state: "success" } });
    await store.runners.update(one.id, { lastSeenAt: new Date(now.getTime() - 100_000) });
    expect((await claim(two.id, { goneBefore }))?.id).toBe(id);
    // Its workspace is at the other runner: it is built again with what was pinned.
    expect(await store.run(prepareApproval, { id, consoleUrl })).toMatchObject({
      task: { state: "dispatched", approval: { state: "building", by: null, built: null } },
      line: { text: expect.stringContaining("its approval is requested again") },
    });
  });

  test("one is claimed by a runner that is fit for what was pinned; without it, for what the project says", async () => {
    const claimed = async (runner: object, project: object, pinned: object) => {
      const name = crypto.randomUUID();
      const { id: runnerId } = await store.runners.create(sampleRunner(name));
      await store.runners.update(runnerId, { lastSeenAt: store.now(), ...runner });
      const label = { labels: [name] };
      await store.runners.update(runnerId, label);
      const created = await store.projects.create({ ...sampleProject({ name }), ...label, ...project });
      const id = await waitingTask(created, later, runnerId);
      await approve(id);
      const approval = (await store.tasks.byId(id))?.approval;
      if (!approval) throw new Error("The task has an approval.");
      const set = { approval: { ...approval, pinned: { ...approval.pinned, ...pinned } } };
      await store.tasks.change(id, { whileIn: ["queued"], set });
      const lease = { leaseHash: name, leaseUntil: later, now: store.now() };
      const isClaimed = (await store.run(claimTask, { runnerId, ...lease }))?.id === id;
      await store.tasks.change(id, { whileIn: ["queued", "dispatched"], set: { state: "canceled" } });
      return isClaimed;
    };
    const weak = { isolation: "user", containers: false } as const;
    expect(await claimed(weak, {}, {})).toBe(true);
    expect(await claimed(weak, { isolation: "container" }, {})).toBe(false);
    expect(await claimed(weak, { isolation: "container" }, { isolation: "none" })).toBe(true);
    expect(await claimed(weak, {}, { isolation: "container" })).toBe(false);
    expect(await claimed(weak, { needsContainer: true }, {})).toBe(false);
    expect(await claimed(weak, { needsContainer: true }, { needsContainer: false })).toBe(true);
    expect(await claimed(weak, {}, { needsContainer: true })).toBe(false);
    expect(await claimed({ ...weak, containers: true }, {}, { needsContainer: true })).toBe(true);
  });

  /** Hands the task out, as its next attempt. */
  async function handOut(id: number) {
    const attempt = ((await store.tasks.byId(id))?.attempt ?? 0) + 1;
    const lease = { runnerId: 1, leaseHash: `attempt ${attempt}` };
    const set = { state: "dispatched", attempt, ...lease, leaseUntil: later } as const;
    await store.tasks.change(id, { whileIn: ["queued"], set });
    return { taskId: id, attempt, ...lease, leaseMs: 60_000 };
  }

  /** The state after the runner of the next attempt was lost before deploy. */
  async function lostIn(id: number) {
    const { leaseHash } = await handOut(id);
    const ended = await store.run(expireLease, { lease: { id, leaseHash, leaseUntil: later }, consoleUrl });
    return ended?.task.state;
  }

  test("one whose approved workspace is gone is built again, with one repeat as every build", async () => {
    const id = await waitingTask(await store.projects.create(sampleProject()), later);
    await approve(id);
    const held = await handOut(id);
    const ending = { held, state: "failed", reason: "", kept: undefined, isWorkspaceLost: true } as const;
    const again = await store.run(finishTask, { ...ending, consoleUrl });
    expect(again?.task).toMatchObject({ state: "queued", approval: { state: "building" } });
    expect(await lostIn(id)).toBe("queued");
    expect(await lostIn(id)).toBe("lost");
  });

  test("one whose runner is gone is built again by another one, with one repeat as every build", async () => {
    const id = await waitingTask(await store.projects.create(sampleProject()), later, 2);
    await approve(id);
    const { leaseHash } = await handOut(id);
    await store.run(prepareApproval, { id, consoleUrl });
    const ended = await store.run(expireLease, { lease: { id, leaseHash, leaseUntil: later }, consoleUrl });
    expect(ended?.task.state).toBe("queued");
    expect(await lostIn(id)).toBe("lost");
  });

  test("a secret that is stored while an approved deploy is handed out does not reach it", async () => {
    const secrets = buildSecrets(new Uint8Array(keyBytes));
    const project = await store.projects.create(sampleProject());
    const put = (name: string) =>
      store.projects.setSecret(
        project.id,
        name,
        secrets.seal(sealedPurpose.projectSecret(project.id, name), name),
      );
    const id = await waitingTask(project, later);
    await put("KNOWN");
    await approve(id);
    await approve(id);
    await put("ADDED");
    await handOut(id);
    const task = await store.tasks.byId(id);
    const instruction =
      task &&
      (await instructionFor(task, "lease", {
        ...{ keepers: store, now: sampleTime, secrets },
        limits: { leaseMs: 60_000, timeoutMs: 60_000, stopGraceMs: 1000, logMaxBytes: 1000 },
        gitUrlRules: { allowLocal: true, trusted: [], samplesDir: "" },
      }));
    expect(instruction).toMatchObject({ approval: { step: "deploy" }, secrets: { KNOWN: "KNOWN" } });
    expect(Object.keys(instruction?.secrets ?? {})).toEqual(["KNOWN"]);
  });

  test("no wait for an answer is part of the duration, also if the approval is requested again", async () => {
    const hour = 3_600_000;
    const before = (hours: number) => new Date(Date.now() - hours * hour);
    const project = await store.projects.create(sampleProject());
    const id = await waitingTask(project, later);
    const asked = (await store.tasks.byId(id))?.approval as TaskApproval;
    const requestedAt = before(8).toISOString();
    await store.tasks.change(id, {
      whileIn: ["waiting"],
      set: { startedAt: before(9), approval: { ...asked, requestedAt } },
    });
    await store.projects.setSecret(project.id, "ADDED", "sealed");
    expect((await approve(id)).task).toMatchObject({ state: "waiting" });
    await approve(id);
    const ending = {
      state: "failed",
      reason: "",
      kept: undefined,
      isWorkspaceLost: true,
      consoleUrl,
    } as const;
    await store.run(finishTask, { ...ending, held: await handOut(id) });
    const held = await handOut(id);
    await store.run(finishTask, { ...ending, held, isWorkspaceLost: false });
    const ended = await store.tasks.byId(id);
    expect(ended?.state).toBe("failed");
    // One hour before the first request.
    expect(ended && workedMs(ended)).toBeWithin(hour, 2 * hour);
  });

  test("the approved rollback to a kept release has one repeat, however often that release was built", async () => {
    const deploy = { ...noApproval, approval: "required" } as const;
    const { id: projectId, pipeline } = await store.projects.create(sampleProject({ deploy }));
    const { id: taskId, ref, message, author } = await store.tasks.create(sampleTask({ projectId }));
    await store.releases.put({
      ...{ taskId, projectId, attempt: 5, runnerId: 1, state: "kept", ref, message, author },
      ...{
        commit: "",
        pipeline,
        env: {},
        digest: null,
        bytes: 1,
        deployedAt: sampleTime,
        endedAt: null,
        rolledBackAt: null,
        images: {},
        promotedFrom: null,
      },
      ...{ place: 1, replacedPlace: 0 },
    });
    const { id } = await store.tasks.create(sampleTask({ projectId, rollbackTo: taskId }));
    await handOut(id);
    const prepared = await store.run(prepareApproval, { id, consoleUrl });
    expect(prepared?.task).toMatchObject({ state: "waiting", approval: { built: { attempt: 5 } } });
    await approve(id);
    expect(await lostIn(id)).toBe("queued");
    expect(await lostIn(id)).toBe("lost");
  });
});
