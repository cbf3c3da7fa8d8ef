import { afterAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { messageOf } from "../../src/errors.ts";
import { noApproval } from "../../src/model/approval/deploy-rule.ts";
import { completePipeline } from "../../src/model/pipeline.ts";
import type { Project } from "../../src/model/project.ts";
import type { AnyOperation, Store } from "../../src/model/store.ts";
import type { Task, TaskClaim } from "../../src/model/task.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { runnerFeatures } from "../../src/runner/protocol.ts";
import { buildSecrets } from "../../src/secrets.ts";
import { buildWakeups } from "../../src/task/events/wakeups.ts";
import { buildDispatch } from "../../src/task/hand-out/dispatch.ts";
import { buildWatchedTime } from "../../src/task/notify/watched-time.ts";
import { claimTask } from "../../src/task/queue.ts";
import { makeSqlite } from "../support/databases.ts";
import { sampleProject, sampleRunner, sampleStage, sampleTask } from "../support/samples.ts";

const database = await makeSqlite();
const store = await database.open();
const runner = await store.runners.create(sampleRunner("a runner"));
afterAll(() => database.remove());

const request = {
  labels: [],
  concurrency: 20,
  version: "test",
  isolation: "none" as const,
  proxy: null,
  containers: false,
  features: runnerFeatures,
};

function dispatchOver(over: Store, watched = buildWatchedTime(manualClock().elapsed)) {
  const finished: Task[] = [];
  const dispatch = buildDispatch({
    store: over,
    events: {
      changed() {},
      enqueued() {},
      moved() {},
      started() {},
      resolved() {},
      waiting() {},
      finished: (task) => void finished.push(task),
      requeued() {},
      logged() {},
      services() {},
      async flushed() {},
      send() {},
      consoleUrl: () => "https://slipway.example",
    },
    wakeups: buildWakeups(),
    limits: { leaseMs: 60_000, timeoutMs: 60_000, stopGraceMs: 100, logMaxBytes: 1000 },
    secrets: buildSecrets(Buffer.alloc(32, 7)),
    gitUrlRules: { allowLocal: false, samplesDir: "", trusted: [] },
    watched,
    anyDomain: true,
    log: pino({ level: "silent" }),
  });
  return {
    finished,
    claim: (signal = new AbortController().signal) => dispatch.claim(runner, request, signal),
  };
}

async function taskOf(url: string, more: Partial<Project> = {}): Promise<{ task: Task; projectId: number }> {
  const git = { url, ref: "main", submodules: false };
  const project = await store.projects.create(sampleProject({ git, ...more }));
  return { task: await store.tasks.create(sampleTask({ projectId: project.id })), projectId: project.id };
}

describe("a task that is handed out", () => {
  test("while the database fails returns to the queue unchanged, and the next claim gets it", async () => {
    const { task } = await taskOf("https://git.example/shop.git");
    let faults = 1;
    const byId: Store["projects"]["byId"] = (id) => {
      if (faults-- > 0) throw new Error("the connection was reset");
      return store.projects.byId(id);
    };
    const { claim, finished } = dispatchOver({ ...store, projects: { ...store.projects, byId } });
    expect(await claim().catch(messageOf)).toBe("the connection was reset");
    expect(await store.tasks.byId(task.id)).toMatchObject({ state: "queued", attempt: 0, runnerId: null });
    expect(await claim()).toMatchObject({ taskId: task.id, attempt: 1 });
    expect(finished).toEqual([]);
  });

  test("but cannot be given to any runner fails with its stages, and its log shows the reason", async () => {
    const local = await taskOf("/srv/git/shop.git");
    const sealed = await taskOf("https://git.example/shop.git");
    await store.projects.setSecret(sealed.projectId, "TOKEN", "sealed with another key");
    const next = await taskOf("https://git.example/shop.git");
    const { claim, finished } = dispatchOver(store);
    expect(await claim()).toMatchObject({ taskId: next.task.id });
    expect(finished.map(({ id }) => id)).toEqual([local.task.id, sealed.task.id]);
    for (const { id, state, reason, stages } of finished) {
      expect({ state, stages: stages.map((stage) => stage.state) }).toEqual({
        state: "failed",
        stages: ["skipped", "skipped"],
      });
      expect(await store.tasks.log(id, 0, 10)).toMatchObject([
        { stage: "system", text: `[${renderReason(reason)}]` },
      ]);
    }
    const [address = "", secret = ""] = finished.map(({ reason }) => renderReason(reason));
    expect(address).toContain("clone URL");
    expect(secret).toStartWith("The project's secret TOKEN cannot be opened: ");
  });

  test.each<[string, Partial<Project>]>([
    ["in its settings", {}],
    ["in its repository", { pipelineFile: { path: "p.yaml", ports: {}, withoutNetwork: [] } }],
  ])(
    "with a release that exists has its domains, or fails; the pipeline of its project is %s",
    async (_, more) => {
      const domain = `${crypto.randomUUID()}.example.com`;
      const pipeline = completePipeline({
        start: { web: { command: "a", routes: [{ domains: [domain] }] } },
      });
      const stages = [sampleStage("start")];
      const projectWith = (change: Partial<Project>) => store.projects.create(sampleProject(change));
      const staging = await projectWith({ name: crypto.randomUUID() });
      const built = await store.tasks.create(sampleTask({ projectId: staging.id }));
      const { ref, message, author, commit } = built;
      await store.tasks.change(built.id, { whileIn: ["queued"], set: { state: "success" } });
      await store.releases.put({
        ...{ taskId: built.id, projectId: staging.id, attempt: 1, runnerId: runner.id, state: "kept" },
        ...{ ref, message, author, commit: commit ?? "", pipeline, env: {}, digest: null, bytes: null },
        ...{ place: 1, replacedPlace: 0, deployedAt: store.now(), endedAt: null, rolledBackAt: null },
        ...{ images: {}, promotedFrom: null },
      });
      const deploys = { projectId: staging.id, taskId: built.id, digest: null };
      const promotedTo = async (change: Partial<Project>) => {
        const { id: projectId } = await projectWith({ ...more, ...change });
        return store.tasks.create(sampleTask({ projectId, deploys, pipeline, stages }));
      };
      const first = await promotedTo({});
      const { claim, finished } = dispatchOver(store);
      expect(await claim()).toMatchObject({ taskId: first.id });
      const taken = await store.routePlaces.claim(staging.id, [{ domain, path: "/" }]);
      expect(taken).toMatchObject([{ projectId: first.projectId }]);
      const second = await promotedTo({});
      await store.projects.delete(first.projectId);
      await store.routePlaces.claim(staging.id, [{ domain, path: "/" }]);
      const third = await promotedTo({ allowedDomains: ["other.example.com"] });
      const back = await store.tasks.create(
        sampleTask({ projectId: second.projectId, rollbackTo: built.id, stages }),
      );
      const next = await taskOf("https://git.example/shop.git");
      expect(await claim()).toMatchObject({ taskId: next.task.id });
      expect(finished.map(({ id, reason }) => [id, renderReason(reason)])).toEqual(
        [second.id, third.id, back.id].map((id) => [id, "The project may not have these routes."]),
      );
    },
  );

  test("too late, when another runner has it by now, stays with that runner", async () => {
    const { task } = await taskOf("https://git.example/shop.git");
    const other = { leaseHash: "of the other runner", leaseUntil: new Date(store.now().getTime() + 60_000) };
    const byId = async () => {
      await store.tasks.change(task.id, { whileIn: ["dispatched"], set: other });
      throw new Error("the connection was reset");
    };
    const { claim, finished } = dispatchOver({ ...store, projects: { ...store.projects, byId } });
    expect(await claim().catch(messageOf)).toBe("the connection was reset");
    expect(await store.tasks.byId(task.id)).toMatchObject({ state: "dispatched", attempt: 1, ...other });
    expect(finished).toEqual([]);
  });

  const approval: Project["deploy"] = { ...noApproval, approval: "required" };
  const obstacles: [string, string, Partial<Project>, "error" | "abort" | null][] = [
    ["the database fails", "https://git.example/shop.git", {}, "error"],
    ["its runner has hung up", "https://git.example/shop.git", {}, "abort"],
    ["no runner can take it", "/srv/git/shop.git", {}, null],
    ["it needs an approval", "https://git.example/shop.git", { deploy: approval }, null],
  ];
  for (const [name, url, more, then] of obstacles)
    test(`and canceled at the same moment ends at once, also if ${name}`, async () => {
      const { task } = await taskOf(url, more);
      // For the same claim.
      if (then === null) await taskOf("https://git.example/shop.git");
      const hungUp = new AbortController();
      let isCanceled = false;
      const byId: Store["projects"]["byId"] = async (id) => {
        if (isCanceled) return store.projects.byId(id);
        isCanceled = true;
        const set = { state: "canceling", reason: "canceled by ann" } as const;
        expect(await store.tasks.change(task.id, { whileIn: ["dispatched"], set })).not.toBeNull();
        if (then === "error") throw new Error("the connection was reset");
        if (then === "abort") hungUp.abort();
        return store.projects.byId(id);
      };
      const { claim, finished } = dispatchOver({ ...store, projects: { ...store.projects, byId } });
      await claim(hungUp.signal).catch(messageOf);
      expect(finished).toMatchObject([{ id: task.id, state: "canceled", reason: "canceled by ann" }]);
      expect(await store.tasks.byId(task.id)).toMatchObject({ state: "canceled", leaseUntil: null });
    });
});

describe("a runner that does not call", () => {
  function watchedDispatch() {
    const clock = manualClock();
    const watched = buildWatchedTime(clock.elapsed);
    let asked = new AbortController();
    let goneBefore: Date | undefined;
    const run = async ({ name }: AnyOperation, input: unknown) => {
      expect(name).toBe(claimTask.name);
      goneBefore = (input as TaskClaim).goneBefore;
      asked.abort();
      return null as never;
    };
    const dispatch = dispatchOver({ ...store, run }, watched);
    return {
      clock,
      /** The server reads its runners every 15 s. */
      watchFor(ms: number) {
        for (let waitedMs = 0; waitedMs < ms; waitedMs += 15_000) {
          clock.advance(15_000);
          watched.looked();
        }
      },
      async goneBefore() {
        asked = new AbortController();
        await dispatch.claim(asked.signal);
        return goneBefore;
      },
    };
  }

  test("is not gone before it could call for a while: after a start, and after a break of the server", async () => {
    const { clock, watchFor, goneBefore } = watchedDispatch();
    watchFor(90_000);
    expect(await goneBefore()).toBeUndefined();
    watchFor(15_000);
    expect(await goneBefore()).toBeDate();
    // It was suspended, or had no database. The first claim may come before the server has read its runners.
    clock.advance(100_000);
    expect(await goneBefore()).toBeUndefined();
    watchFor(90_000);
    expect(await goneBefore()).toBeUndefined();
    watchFor(30_000);
    expect(await goneBefore()).toBeDate();
  });

  test("is gone also if the other runners call this server rarely", async () => {
    const { watchFor, goneBefore } = watchedDispatch();
    watchFor(60_000);
    expect(await goneBefore()).toBeUndefined();
    watchFor(60_000);
    expect(await goneBefore()).toBeDate();
  });
});
