import { describe, expect, test } from "bun:test";
import type { DeliveryFilter } from "../../src/model/delivery.ts";
import type { Store } from "../../src/model/store.ts";
import { availableDatabases } from "../support/databases.ts";
import { failureOf } from "../support/failure.ts";
import {
  sampleDelivery,
  sampleProject,
  sampleTask,
  sampleTime,
  sampleWebhookConfig,
} from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const at = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())("projects and deliveries on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  const addProject = async () => (await store.projects.create(sampleProject())).id;

  test("a project comes back as it was made and as it was changed", async () => {
    const made = await store.projects.create(sampleProject({ labels: ["gpu"], sample: true }));
    expect(await store.projects.byId(made.id)).toEqual(made);
    const changed = await store.projects.update(made.id, { env: { A: "1" }, supersede: "running" });
    expect(changed).toEqual({ ...made, env: { A: "1" }, supersede: "running" });
    expect(await store.projects.update(made.id, {})).toEqual(changed);
    await store.projects.setLive(made.id, { liveTaskId: 12 });
    expect(await store.projects.byId(made.id)).toMatchObject({ liveTaskId: 12 });
    expect(await failureOf(store.projects.create(sampleProject({ name: made.name })))).toMatchObject({
      code: "conflict",
    });
    expect(await store.projects.update(999_999, { env: {} })).toBeNull();
  });

  test("projects are listed alphabetically, by ids, group and a literal part of the name", async () => {
    const group = await store.groups.create({ name: "listed", createdAt: sampleTime });
    const names = ["zz 100% b", "zz 100% a", "zz 1000 c"];
    const ids = [];
    for (const name of names)
      ids.push((await store.projects.create(sampleProject({ name, groupId: group.id }))).id);
    const namesOf = async (filter: Parameters<Store["projects"]["list"]>[0]) =>
      (await store.projects.list(filter, { page: 1, pageSize: 20 })).items.map((project) => project.name);
    expect(await namesOf({ groupId: group.id })).toEqual(["zz 100% a", "zz 100% b", "zz 1000 c"]);
    expect(await namesOf({ search: "ZZ 100%" })).toEqual(["zz 100% a", "zz 100% b"]);
    expect(await namesOf({ ids: ids.slice(0, 1) })).toEqual(["zz 100% b"]);
    expect(await namesOf({ ids: [] })).toEqual([]);
  });

  test("a project that is deleted takes all but its deliveries with it", async () => {
    const projectId = await addProject();
    const task = await store.tasks.create(sampleTask({ projectId }));
    await store.tasks.appendLog(task.id, [
      { index: 0, stage: "build", step: null, at: sampleTime, text: "a" },
    ]);
    await store.projects.setSecret(projectId, "TOKEN", "sealed");
    await store.webhookConfigs.save(sampleWebhookConfig({ projectId, key: "ab".repeat(24) }));
    const deliveryId = await store.deliveries.create(sampleDelivery({ project_id: projectId }));
    expect(await store.projects.delete(projectId)).toBe(true);
    expect(await store.projects.delete(projectId)).toBe(false);
    expect(await store.tasks.byId(task.id)).toBeNull();
    expect(await store.tasks.nextLogIndex(task.id)).toBe(0);
    expect(await store.projects.secrets(projectId)).toEqual([]);
    expect(await store.webhookConfigs.byKey("ab".repeat(24))).toBeNull();
    expect(await store.deliveries.byId(deliveryId)).toMatchObject({ project_id: projectId });
  });

  test("secrets of a project are set, replaced and deleted by name", async () => {
    const projectId = await addProject();
    await store.projects.setSecret(projectId, "TOKEN", "one");
    await store.projects.setSecret(projectId, "TOKEN", "two");
    await store.projects.setSecret(projectId, ":credential", "three");
    expect(await store.projects.secrets(projectId)).toEqual([
      { name: ":credential", ciphertext: "three", scope: null, as: "variable" },
      { name: "TOKEN", ciphertext: "two", scope: null, as: "variable" },
    ]);
    await store.projects.setSecretUse(projectId, "TOKEN", { scope: "deploy", as: "file" });
    await store.projects.setSecret(projectId, "TOKEN", "four");
    expect(await store.projects.secretNames([projectId])).toEqual([
      { ownerId: projectId, name: ":credential", scope: null, as: "variable" },
      { ownerId: projectId, name: "TOKEN", scope: "deploy", as: "file" },
    ]);
    expect(await store.projects.deleteSecret(projectId, "TOKEN")).toBe(true);
    expect(await store.projects.deleteSecret(projectId, "TOKEN")).toBe(false);
  });

  test("a webhook configuration comes back as saved, and a changed key is a former one at once", async () => {
    const projectId = await addProject();
    const first = sampleWebhookConfig({
      projectId,
      key: "01".repeat(24),
      enabled: true,
      events: ["push", "tag"],
      branchFilter: ["main", "release/**"],
      actions: { start: false },
      debounceSeconds: 0,
      secondSecretUntil: at(60),
    });
    expect(await store.webhookConfigs.ofProject(projectId)).toBeNull();
    await store.webhookConfigs.save(first);
    expect(await store.webhookConfigs.ofProject(projectId)).toEqual(first);
    expect((await store.webhookConfigs.byKey(first.key ?? ""))?.config).toEqual(first);
    await store.webhookConfigs.save({ ...first, key: "02".repeat(24), actions: null });
    expect(await store.webhookConfigs.byKey("01".repeat(24))).toBeNull();
    expect(await store.webhookConfigs.formerProjectOf("01".repeat(24))).toBe(projectId);
    expect(await store.webhookConfigs.formerProjectOf("02".repeat(24))).toBeNull();
    expect((await store.webhookConfigs.byKey("02".repeat(24)))?.config).toMatchObject({ actions: null });
    // Earlier versions stored empty values that stand for a default.
    await store.webhookConfigs.save({ ...first, events: [], skipCiKeyword: "" });
    const inForce = { events: ["push"], skipCiKeyword: "[skip ci]" };
    expect(await store.webhookConfigs.ofProject(projectId)).toMatchObject(inForce);
    expect((await store.webhookConfigs.byKey(first.key ?? ""))?.config).toMatchObject(inForce);
  });

  test("a delivery comes back whole, and without its long parts in lists", async () => {
    const projectId = await addProject();
    const given = sampleDelivery({
      project_id: projectId,
      body: '{"text":"𝄞 ü"}',
      author: "a\u0000b",
      former_project_id: 4,
      normalized: {
        event: "push",
        rawEvent: "push",
        rawRef: "refs/heads/main",
        ref: "main",
        refType: "branch",
        commit: "abc",
        message: "two\nlines \u0000",
        author: "ann",
        paths: ["a.txt"],
        pathsUnknownBecause: null,
        skip: null,
        mergeRequest: null,
        hostDeliveryId: null,
      },
    });
    const id = await store.deliveries.create(given);
    const whole = { ...given, id, repeat_of: null, replaced_by: null, environment: "", author: "a\ufffdb" };
    expect(await store.deliveries.byId(id)).toEqual(whole);
    const { items, total } = await store.deliveries.list({ projectId }, { page: 1, pageSize: 20 });
    const { body: _body, headers: _headers, normalized: _normalized, trace: _trace, ...summary } = whole;
    expect({ items, total }).toEqual({ items: [summary], total: 1 });
    expect(await store.deliveries.latest({ projectId }, 10)).toEqual([whole]);
    expect(await store.deliveries.byId(999_999)).toBeNull();
  });

  test("a delivery and its task are made in one, each with the other's id, or neither", async () => {
    const projectId = await addProject();
    const delivery = sampleDelivery({ project_id: projectId });
    const { id, task } = await store.deliveries.createWithTask(delivery, sampleTask({ projectId }));
    expect(task).toMatchObject({ projectId, state: "queued", deliveryId: id });
    expect(await store.tasks.byId(task.id)).toEqual(task);
    expect(await store.deliveries.byId(id)).toMatchObject({ task_id: task.id, project_id: projectId });

    const gone = 987_654;
    const failure = store.deliveries.createWithTask(
      sampleDelivery({ project_id: gone }),
      sampleTask({ projectId: gone }),
    );
    expect(await failureOf(failure)).toMatchObject({ code: "not_found" });
    expect((await store.deliveries.list({ projectId: gone }, { page: 1, pageSize: 1 })).total).toBe(0);

    // Numbers are not given again, neither after a failure nor after the newest delivery was deleted.
    await store.deliveries.deleteOfProject(projectId, 100);
    const next = await store.deliveries.createWithTask(delivery, sampleTask({ projectId }));
    expect(next.id).toBeGreaterThan(id);
    expect(await store.tasks.byId(next.task.id)).toMatchObject({ deliveryId: next.id });
    expect(await store.deliveries.byId(next.id)).toMatchObject({ task_id: next.task.id });
  });

  test("the list is newest first and filtered by project, group, status, code, time, search and view", async () => {
    const group = await store.groups.create({ name: "deliveries", createdAt: sampleTime });
    const mine = (await store.projects.create(sampleProject({ groupId: group.id }))).id;
    const other = await addProject();
    const add = (change: Parameters<typeof sampleDelivery>[0]) =>
      store.deliveries.create(sampleDelivery(change));
    const a = await add({ project_id: mine, created_at: at(1), ref: "feature/x" });
    const b = await add({
      project_id: mine,
      created_at: at(2),
      status: "ignored",
      code: "probe",
      commit: "c0ffee",
    });
    const c = await add({ project_id: other, created_at: at(3), host_delivery_id: "host-77" });
    const d = await add({ project_id: other, created_at: at(4), status: "ignored", code: "skip_keyword" });
    const idsOf = async (filter: DeliveryFilter, pageSize = 20) =>
      (await store.deliveries.list(filter, { page: 1, pageSize })).items.map((item) => item.id);
    const both = { visibleProjectIds: [mine, other] };
    expect(await idsOf(both)).toEqual([d, c, b, a]);
    expect(await idsOf(both, 2)).toEqual([d, c]);
    expect(
      (await store.deliveries.list(both, { page: 2, pageSize: 3 })).items.map((item) => item.id),
    ).toEqual([a]);
    expect((await store.deliveries.list(both, { page: 2, pageSize: 3 })).total).toBe(4);
    expect(await idsOf({ projectId: mine })).toEqual([b, a]);
    expect(await idsOf({ groupId: group.id })).toEqual([b, a]);
    expect(await idsOf({ ...both, status: "ignored" })).toEqual([d, b]);
    expect(await idsOf({ ...both, code: "skip_keyword" })).toEqual([d]);
    expect(await idsOf({ ...both, status: "ignored", code: "probe" })).toEqual([b]);
    expect(await idsOf({ ...both, from: at(2), to: at(4) })).toEqual([c, b]);
    expect(await idsOf({ search: "host-77" })).toEqual([c]);
    expect(await idsOf({ search: "c0ffee" })).toEqual([b]);
    expect(await idsOf({ search: "feature/x", ...both })).toEqual([a]);
    expect(await idsOf({ projectId: other, visibleProjectIds: [mine] })).toEqual([]);
    expect(await idsOf({ groupId: group.id, visibleProjectIds: [other] })).toEqual([]);
    expect(await idsOf({ visibleProjectIds: [] })).toEqual([]);
    expect((await store.deliveries.latest({ ...both, status: "ignored" }, 1)).map((item) => item.id)).toEqual(
      [d],
    );
  });

  test("a commit is found by its first digits, at least seven of them", async () => {
    const [projectId, other] = [await addProject(), await addProject()];
    const commit = "76543210fedcba9876543210fedcba9876543210";
    const add = (project_id: number, at: Date, name: string) =>
      store.deliveries.create(sampleDelivery({ project_id, created_at: at, commit: name }));
    const older = await add(projectId, at(1), commit);
    const newer = await add(projectId, at(2), commit);
    await add(other, at(3), `1${commit.slice(1)}`);
    const found = async (filter: DeliveryFilter) =>
      (await store.deliveries.list(filter, { page: 1, pageSize: 20 })).items.map(({ id }) => id);
    for (const search of [commit, commit.slice(0, 7), commit.slice(0, 39), commit.slice(0, 12).toUpperCase()])
      expect(await found({ search })).toEqual([newer, older]);
    expect(await found({ search: commit.slice(0, 6) })).toEqual([]);
    expect(await found({ search: commit.slice(0, 8), projectId: other })).toEqual([]);
  });

  test("an admin's list also holds deliveries to endpoints that do not exist", async () => {
    const id = await store.deliveries.create(
      sampleDelivery({
        project_id: 0,
        status: "rejected",
        code: "endpoint_not_found",
        created_at: at(9_000),
      }),
    );
    const { items } = await store.deliveries.list({}, { page: 1, pageSize: 1 });
    expect(items.map((item) => item.id)).toEqual([id]);
  });

  test("a repeat of the host's delivery id names the first of its project; a replay is no repeat", async () => {
    const [projectId, other] = [await addProject(), await addProject()];
    const add = (project_id: number, replay_of: number | null = null) =>
      store.deliveries.create(sampleDelivery({ project_id, host_delivery_id: "guid-1", replay_of }));
    const first = await add(projectId);
    const repeatOf = async (id: number) => (await store.deliveries.byId(id))?.repeat_of;
    expect(await repeatOf(first)).toBeNull();
    expect(await repeatOf(await add(projectId))).toBe(first);
    expect(await repeatOf(await add(projectId))).toBe(first);
    expect(await repeatOf(await add(other))).toBeNull();
    expect(await repeatOf(await add(projectId, first))).toBeNull();
  });

  test("a flood row counts what was folded into it, and the chart counts it too", async () => {
    const projectId = await addProject();
    const start = new Date("2026-05-01T00:00:00Z");
    const minute = (n: number) => new Date(start.getTime() + n * 60_000);
    const flood = await store.deliveries.create(
      sampleDelivery({
        project_id: projectId,
        status: "rejected",
        code: "rate_limited",
        created_at: minute(1),
      }),
    );
    await store.deliveries.create(sampleDelivery({ project_id: projectId, created_at: minute(1) }));
    await store.deliveries.create(sampleDelivery({ project_id: projectId, created_at: minute(70) }));
    expect(await store.deliveries.addToCount(flood, 9)).toBe(true);
    expect(await store.deliveries.addToCount(999_999, 1)).toBe(false);
    const counts = await store.deliveries.countByStatus({
      visibleProjectIds: [projectId],
      from: start,
      to: minute(120),
      bucketSeconds: 3600,
    });
    expect(counts.toSorted((a, b) => a.count - b.count || +a.bucketStart - +b.bucketStart)).toEqual([
      { bucketStart: start, status: "accepted", count: 1 },
      { bucketStart: minute(60), status: "accepted", count: 1 },
      { bucketStart: start, status: "rejected", count: 10 },
    ]);
  });

  test("old deliveries are deleted in batches, the oldest first", async () => {
    const old = new Date("2020-01-01T00:00:00Z");
    const ids = [];
    for (let each = 0; each < 5; each++)
      ids.push(await store.deliveries.create(sampleDelivery({ created_at: new Date(old.getTime() + each) })));
    const before = new Date(old.getTime() + 4);
    expect(await store.deliveries.deleteOlderThan(before, 3)).toBe(3);
    expect(await store.deliveries.byId(ids[3] ?? 0)).not.toBeNull();
    expect(await store.deliveries.deleteOlderThan(before, 3)).toBe(1);
    expect(await store.deliveries.deleteOlderThan(before, 3)).toBe(0);
    expect(await store.deliveries.byId(ids[4] ?? 0)).not.toBeNull();
  });
});
