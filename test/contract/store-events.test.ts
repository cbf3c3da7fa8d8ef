import { describe, expect, test } from "bun:test";
import { noApproval } from "../../src/model/approval/deploy-rule.ts";
import type { NewOutgoingCall, OutgoingCall } from "../../src/model/outgoing-call.ts";
import { type Project, projectRevision } from "../../src/model/project.ts";
import { reservedSecrets } from "../../src/model/sealed.ts";
import { notifyEvents } from "../../src/model/settings/notify-target.ts";
import type { Task } from "../../src/model/task.ts";
import { answerApproval, endApprovals } from "../../src/task/approval/answer-approval.ts";
import { prepareApproval } from "../../src/task/approval/request-approval.ts";
import { changeProject } from "../../src/task/change-project.ts";
import { reportGone } from "../../src/task/notify/runner-watch.ts";
import {
  cancelTask,
  expireLease,
  finishTask,
  refuseTask,
  reportStage,
  startTask,
} from "../../src/task/queue.ts";
import { recordRefusal } from "../../src/webhook/decide/record.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";
import {
  sampleAuditEntry,
  sampleDelivery,
  sampleProject,
  sampleTask,
  sampleTime,
} from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const consoleUrl = "https://slipway.example";
const entry = sampleAuditEntry;
const commit = "0123456789abcdef0123456789abcdef01234567";

/*
 * An operation is run, and nothing after it: as if the server was killed at that moment. What another server then finds
 * in the database is what it will send.
 */
describe.each(await availableDatabases())(
  "what is reported is stored with its cause on $name",
  async ({ make }) => {
    const { database, store } = await setUpStore(make);
    const next = await database.open();
    const lease = "lease";
    const leaseUntil = new Date(Date.now() + 60_000);

    async function listening(change: Partial<Project> = {}): Promise<Project> {
      const notify = [{ ...sampleProject().notify[0], events: [...notifyEvents] }] as Project["notify"];
      const git = { url: "https://github.com/acme/shop.git", ref: "main", submodules: false };
      const project = await store.projects.create(sampleProject({ notify, git, ...change }));
      await store.projects.setSecret(project.id, reservedSecrets.status, "sealed");
      return project;
    }

    async function taskOf(project: Project, state: Task["state"], more: Partial<Task> = {}): Promise<Task> {
      const { id } = await store.tasks.create(sampleTask({ projectId: project.id, commit }));
      const held = state === "dispatched" || state === "running";
      const set = held
        ? { state, leaseHash: lease, leaseUntil, runnerId: 1, attempt: 1, ...more }
        : { state, ...more };
      const task = await store.tasks.change(id, { whileIn: ["queued"], set });
      if (task === null) throw new Error(`task ${id} could not be set to ${state}`);
      return task;
    }
    const heldBy = ({ id }: Task) => ({
      taskId: id,
      attempt: 1,
      runnerId: 1,
      leaseHash: lease,
      leaseMs: 60_000,
    });
    const ending = (task: Task, state: "success" | "failed") => ({
      ...{ held: heldBy(task), state, reason: "", kept: [], isWorkspaceLost: false, consoleUrl },
    });

    /** What another server sends when it starts later: kind and event of each call. */
    async function found(project: Project): Promise<string[]> {
      const later = new Date(next.now().getTime() + 60_000);
      const calls: OutgoingCall[] = await next.outgoingCalls.takeDue(later, later, 1000);
      for (const { id } of calls) await next.outgoingCalls.delete(id);
      return calls
        .filter(({ projectId }) => projectId === project.id)
        .map(({ kind, event }) => `${kind}: ${event}`)
        .sort();
    }

    test("a task that is started, canceled, or superseded by it", async () => {
      const project = await listening({ supersede: "queued" });
      const older = await taskOf(project, "queued");
      const { id: _id, projectId: _projectId, ...order } = { ...older, project, commit: "f".repeat(40) };
      const { task } = await store.run(startTask, { order, consoleUrl, audited: entry });
      expect(await found(project)).toEqual([
        "commit status: canceled",
        "commit status: queued",
        "notification: task.canceled",
        "notification: task.queued",
      ]);
      await store.run(cancelTask, {
        id: task.id,
        reason: "no longer needed",
        consoleUrl,
        audited: entry,
      });
      expect(await found(project)).toEqual(["commit status: canceled", "notification: task.canceled"]);
    });

    test("the stages and the end of a task, also if a runner or the server gives it up", async () => {
      const project = await listening();
      const task = await taskOf(project, "dispatched", { startedAt: null });
      const request = { stage: "build", state: "running", exitCode: null } as const;
      await store.run(reportStage, { held: heldBy(task), request, consoleUrl });
      expect(await found(project)).toEqual(["commit status: running", "notification: task.started"]);
      await store.run(finishTask, ending(task, "success"));
      expect(await found(project)).toEqual(["commit status: success", "notification: task.succeeded"]);
      await store.run(finishTask, ending(await taskOf(project, "running"), "failed"));
      expect(await found(project)).toEqual(["commit status: failed", "notification: task.failed"]);
      const refused = await taskOf(project, "dispatched");
      await store.run(refuseTask, { id: refused.id, leaseHash: lease, reason: "no clone URL", consoleUrl });
      expect(await found(project)).toEqual(["commit status: failed", "notification: task.failed"]);
      const vanish = async (attempt: number) => {
        const { id } = await taskOf(project, "running", { attempt });
        await store.run(expireLease, { lease: { id, leaseHash: lease, leaseUntil }, consoleUrl });
        return found(project);
      };
      expect(await vanish(1)).toEqual(["commit status: queued", "notification: task.queued"]);
      expect(await vanish(2)).toEqual(["commit status: lost", "notification: task.lost"]);
    });

    test("a rollback: the end of the task says what is serving", async () => {
      const project = await listening();
      const rollback = { taskId: 7, commit: "a".repeat(40), state: "success", reason: "" } as const;
      const task = await taskOf(project, "running", { rollback });
      await store.run(finishTask, ending(task, "failed"));
      const later = new Date(next.now().getTime() + 60_000);
      const bodies = (await next.outgoingCalls.takeDue(later, later, 10)).map(({ body }) => body);
      for (const body of bodies) expect(body).toContain("aaaaaaa is serving again");
      expect(bodies).toHaveLength(2);
      await found(project);
    });

    test("a request for approval, its answer and its end", async () => {
      const project = await listening({ deploy: { ...noApproval, approval: "required" } });
      const waitingTask = async () => {
        const { id } = await taskOf(project, "dispatched");
        const prepared = await store.run(prepareApproval, { id, consoleUrl });
        await store.run(finishTask, ending(prepared?.task as Task, "success"));
        return id;
      };
      const first = await waitingTask();
      expect(await found(project)).toEqual(["commit status: waiting", "notification: approval.requested"]);
      const answer = {
        id: first,
        isApproved: false,
        isAdmin: false,
        comment: "",
        consoleUrl,
        audited: entry,
      };
      await store.run(answerApproval, answer);
      expect(await found(project)).toEqual(["commit status: canceled", "notification: task.canceled"]);
      const second = await waitingTask();
      await found(project);
      const { approval } = (await store.tasks.byId(second)) ?? {};
      if (!approval) throw new Error("it does not wait");
      const expired = { ...approval, expiresAt: new Date(1).toISOString() };
      await store.tasks.change(second, { whileIn: ["waiting"], set: { approval: expired } });
      await store.run(endApprovals, { consoleUrl });
      expect(await found(project)).toEqual(["commit status: canceled", "notification: task.canceled"]);
    });

    test("refused deliveries, one message in five minutes with the number of the others", async () => {
      const project = await listening({ commitStatus: { context: "slipway/shop", skipped: true } });
      const refuse = (change: object) =>
        store.run(recordRefusal, {
          record: sampleDelivery({ project_id: project.id, task_id: 0, ...change }),
          traceparent: null,
          consoleUrl,
        });
      const rejected = { status: "rejected", code: "signature_invalid" };
      for (let each = 0; each < 3; each++) await refuse(rejected);
      expect(await found(project)).toEqual(["notification: delivery.rejected"]);
      await refuse({ status: "failed", code: "internal_error" });
      expect(await found(project)).toEqual(["notification: delivery.failed"]);
      // Over all servers, and also after a restart.
      await next.run(recordRefusal, {
        record: sampleDelivery({
          project_id: project.id,
          task_id: 0,
          status: "rejected",
          code: "rate_limited",
        }),
        traceparent: null,
        consoleUrl,
      });
      expect(await found(project)).toEqual([]);
      await next.attempts.forget(`delivery.rejected of project ${project.id}`);
      await refuse(rejected);
      const later = new Date(next.now().getTime() + 60_000);
      const [message] = await next.outgoingCalls.takeDue(later, later, 10);
      expect(JSON.parse(message?.body ?? "{}")).toMatchObject({ data: { unreported: 3 } });
      await found(project);
    });

    test("deliveries: the new task, a later push that takes it over, a push that a filter excludes", async () => {
      const server = await startHookServer(store);
      const hook = await server.project({ debounceSeconds: 60, secret: "right", branchFilter: ["main"] });
      const project = await listening({ commitStatus: { context: "slipway/shop", skipped: true } });
      const { notify, git, commitStatus } = project;
      await store.projects.update(hook.id, { notify, git, commitStatus });
      await store.projects.setSecret(hook.id, reservedSecrets.status, "sealed");
      const own = { ...project, id: hook.id };
      const push = (branch: string, after: string) =>
        deliverTo(hook.url, {
          payload: { event: "push", ref: `refs/heads/${branch}`, commit: after },
          headers: { "X-CICD-Token": "right" },
        });
      await push("main", commit);
      expect(await found(own)).toEqual(["commit status: queued", "notification: task.queued"]);
      await push("main", "e".repeat(40));
      expect(await found(own)).toEqual(["commit status: queued", "commit status: replaced"]);
      await push("other", "d".repeat(40));
      expect(await found(own)).toEqual(["commit status: skipped"]);
      await deliverTo(hook.url, { payload: { event: "push", ref: "refs/heads/main" } });
      expect(await found(own)).toEqual(["notification: delivery.rejected"]);
      await server.stop();
    });

    test("a runner that is gone", async () => {
      const project = await listening();
      const registered = { local: false, disabled: false, concurrency: 1, labels: [], createdAt: sampleTime };
      const { id } = await store.runners.create({ ...registered, name: "gone", tokenHash: "gone" });
      await store.runners.update(id, { lastSeenAt: sampleTime });
      const call: NewOutgoingCall = {
        projectId: project.id,
        kind: "notification",
        event: "runner.gone",
        subject: null,
        url: "https://hooks.example",
        targetId: "target",
        messageId: "msg_1",
        proof: "signature",
        body: "{}",
      };
      const gone = { runnerId: id, lastSeenAt: sampleTime, calls: [call] };
      expect(await store.run(reportGone, gone)).toHaveLength(1);
      expect(await next.run(reportGone, gone)).toBeNull();
      expect(await found(project)).toEqual(["notification: runner.gone"]);
    });

    test("the audit entry of a change: with it, and without it if nothing was changed", async () => {
      const project = await listening();
      const subjects = async (action: string) =>
        (await next.audit.list({ action }, { page: 1, pageSize: 50 })).items.map(
          ({ subject, projectId, detail }) => ({ subject, projectId, detail }),
        );
      const about = (action: string) => ({
        ...sampleAuditEntry,
        action,
        subject: "a secret",
        projectId: project.id,
      });
      await store.audited(about("secret.set")).projects.setSecret(project.id, "TOKEN", "sealed");
      expect(await subjects("secret.set")).toMatchObject([{ subject: "a secret", projectId: project.id }]);
      const removed = store.audited(about("secret.remove"));
      expect(await removed.projects.deleteSecret(project.id, "TOKEN")).toBeTrue();
      expect(await removed.projects.deleteSecret(project.id, "TOKEN")).toBeFalse();
      expect(await subjects("secret.remove")).toHaveLength(1);
      await failureOf(store.audited(about("secret.fail")).projects.setSecret(987_654, "TOKEN", "sealed"));
      expect(await subjects("secret.fail")).toEqual([]);

      const audited = (action: string) => ({ ...sampleAuditEntry, action, subject: "", detail: {} });
      const { id: _id, ...order } = { ...(await taskOf(project, "queued")), project };
      const run = { order, consoleUrl, audited: { ...audited("test.run"), detail: { commit } } };
      const { task } = await store.run(startTask, run);
      const of = { subject: `task ${task.id}`, projectId: project.id };
      expect(await subjects("test.run")).toEqual([{ ...of, detail: { commit } }]);
      const cancel = { id: task.id, reason: "", consoleUrl, audited: audited("test.cancel") };
      await store.run(cancelTask, cancel);
      await failureOf(store.run(cancelTask, cancel));
      expect(await subjects("test.cancel")).toMatchObject([of]);
      const update = {
        ...{ id: project.id, revision: projectRevision(project), change: { env: { A: "1" } }, secrets: [] },
        ...{ forget: [reservedSecrets.status], audited: audited("test.update") },
      };
      expect(await store.run(changeProject, update)).not.toBeNull();
      // Another change came first: nothing is changed, and nothing is written down.
      expect(await store.run(changeProject, update)).toBeNull();
      expect(await subjects("test.update")).toMatchObject([{ detail: { forgotten: ["status token"] } }]);
      await found(project);
    });
  },
);
