import { describe, expect, test } from "bun:test";
import type { Delivery, DeliveryCode, RateBucket, RecentQuery } from "../../src/model/delivery.ts";
import type { NewTask } from "../../src/model/task.ts";
import { availableDatabases } from "../support/databases.ts";
import {
  sampleDelivery,
  sampleProject,
  sampleTask,
  sampleTime,
  sampleWebhookConfig,
} from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const at = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())("what a decision asks on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  const addProject = async () => (await store.projects.create(sampleProject())).id;
  const runner = {
    name: "capacity",
    labels: [],
    tokenHash: "t",
    local: false,
    disabled: false,
    createdAt: sampleTime,
  };
  const recent = async (projectId: number, asked: Partial<RecentQuery>) => {
    const since = at(20);
    return store.deliveries.recent({
      projectId,
      placeId: projectId,
      now: at(20),
      counted: { bucket: "listed", since },
      window: { since, rawRef: null },
      pushed: { rawRef: "", since },
      queued: null,
      ...asked,
    });
  };

  test("a webhook is read whole with its project, and names its token; null without the project", async () => {
    const projectId = await addProject();
    const config = sampleWebhookConfig({ projectId, key: "state" });
    const stored = () => store.webhookConfigs.withProject(projectId);
    expect(await stored()).toMatchObject({
      project: { id: projectId },
      config: null,
      hasStatusToken: false,
      defaultTarget: null,
    });
    await store.webhookConfigs.save(config);
    await store.projects.setSecret(projectId, ":status", "sealed");
    await store.meta.set("default-notify", "null");
    const project = await store.projects.byId(projectId);
    if (project === null) throw new Error("no project");
    expect(await stored()).toEqual({ project, config, hasStatusToken: true, defaultTarget: "null" });
    expect(await store.webhookConfigs.byKey("state")).toEqual({ project, config });
    expect(await store.webhookConfigs.withProject(987_654)).toBeNull();
  });

  test("only an accepted live delivery inside of the window opened it", async () => {
    const projectId = await addProject();
    const add = (change: Parameters<typeof sampleDelivery>[0]) =>
      store.deliveries.create(sampleDelivery({ project_id: projectId, ...change }));
    const openedAfter = async (since: Date) =>
      (await recent(projectId, { window: { since, rawRef: null } })).windowTask;
    expect(await openedAfter(at(0))).toBeNull();
    const task = await store.tasks.create(sampleTask({ projectId }));
    await add({ created_at: at(11), task_id: task.id });
    await add({ created_at: at(12), status: "merged", code: "debounced" });
    await add({ created_at: at(13), remote_ip: "replay" });
    await add({ created_at: at(14), remote_ip: "test" });
    expect(await openedAfter(at(0))).toEqual({ id: task.id, state: "queued", source: task.source });
    expect(await openedAfter(at(11))).toBeNull();
    await add({ created_at: at(15), task_id: 987_654 });
    expect(await openedAfter(at(0))).toEqual({ id: 987_654, state: null, source: null });
  });

  test("the window of a ref is known by what its task is for, whole: a tag is no branch of the same name", async () => {
    const projectId = await addProject();
    const accept = async (minute: number, task: Partial<NewTask>) => {
      const delivery = sampleDelivery({ project_id: projectId, created_at: at(minute), ref: "v1" });
      return (await store.deliveries.createWithTask(delivery, sampleTask({ projectId, ...task }))).task.id;
    };
    const branch = await accept(10, { ref: "refs/heads/v1", causeRef: null });
    const tag = await accept(11, { ref: "refs/tags/v1", causeRef: null });
    const caused = await accept(12, { ref: "refs/heads/main", causeRef: "refs/heads/dev" });
    const lastOf = async (rawRef: string) =>
      (await recent(projectId, { window: { since: at(0), rawRef } })).windowTask?.id ?? null;
    expect(await lastOf("refs/heads/v1")).toBe(branch);
    expect(await lastOf("refs/tags/v1")).toBe(tag);
    expect(await lastOf("refs/heads/dev")).toBe(caused);
    expect(await lastOf("refs/heads/main")).toBeNull();
  });

  test("the first unfinished task of a project is found, queued or with a runner", async () => {
    const projectId = await addProject();
    const unfinished = async () => (await recent(projectId, {})).unfinished;
    expect(await unfinished()).toBeNull();
    const [first, second] = [
      await store.tasks.create(sampleTask({ projectId })),
      await store.tasks.create(sampleTask({ projectId })),
    ];
    expect(await unfinished()).toEqual({ id: first.id, state: "queued" });
    await store.tasks.change(second.id, { whileIn: ["queued"], set: { state: "running" } });
    await store.tasks.change(first.id, { whileIn: ["queued"], set: { state: "canceled" } });
    expect(await unfinished()).toEqual({ id: second.id, state: "running" });
  });

  test("a task at the end of the queue has its own project's tasks, other projects and busy runners before it", async () => {
    const [projectId, other] = [await addProject(), await addProject()];
    const queue = async (priority = 0) =>
      (await recent(projectId, { queued: { priority, notBefore: null } })).queue;
    const before = await queue();
    const mine = await store.tasks.create(sampleTask({ projectId }));
    await store.tasks.create(sampleTask({ projectId: other }));
    await store.tasks.create(sampleTask({ projectId: other, notBefore: at(59) }));
    await store.tasks.create(sampleTask({ projectId: other }));
    const after = await queue();
    expect([after?.own, (after?.others ?? 0) - (before?.others ?? 0)]).toEqual([1, 1]);
    expect(await queue(1)).toMatchObject({ own: 0 });
    await store.tasks.change(mine.id, { whileIn: ["queued"], set: { state: "running" } });
    expect(await queue()).toMatchObject({ own: 0, heldOwn: 1, held: (before?.held ?? 0) + 1 });
    const { id } = await store.runners.create({ ...runner, concurrency: 3 });
    expect((await queue())?.capacity).toBe(before?.capacity);
    await store.runners.update(id, { lastSeenAt: at(20) });
    expect((await queue())?.capacity).toBe((before?.capacity ?? 0) + 3);
  });

  test("the rate counts what was decided, not what was refused, tested, replayed or is too old", async () => {
    const projectId = await addProject();
    const add = (code: DeliveryCode, change: Partial<Delivery> = {}) =>
      store.deliveries.create(sampleDelivery({ project_id: projectId, code, created_at: at(10), ...change }));
    for (const code of ["accepted", "debounced", "probe", "queue_busy", "internal_error"] as const)
      await add(code);
    const refusals = [
      "endpoint_not_found",
      "webhook_disabled",
      "signature_invalid",
      "body_too_large",
    ] as const;
    for (const code of [...refusals, "rate_limited", "lock_timeout", "invalid_payload"] as const)
      await add(code);
    for (const remote_ip of ["test", "replay"]) await add("accepted", { remote_ip });
    await add("accepted", { created_at: at(0) });
    const unlisted = ["probe", "event_not_allowed", "ref_deleted"] as const;
    for (const code of unlisted) await add(code, { created_at: at(20) });
    const counted = async (bucket: RateBucket) =>
      (await recent(projectId, { now: at(30), counted: { bucket, since: at(0) } })).counted;
    expect(await counted("listed")).toEqual({ count: 4, oldest: at(10) });
    expect(await counted("unlisted")).toEqual({ count: 4, oldest: at(10) });
  });
});
