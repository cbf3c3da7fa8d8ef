import { describe, expect, test } from "bun:test";
import type { Activity, ActivityFilter } from "../../src/model/console/activity.ts";
import type { NewDelivery } from "../../src/model/delivery.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleDelivery, sampleProject, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const at = (second: number) => new Date(sampleTime.getTime() + second * 1000);
const nameOf = ({ delivery, task, isBuilt }: Activity) =>
  [delivery && `delivery ${delivery.commit_message}`, task && `task ${task.message}`, isBuilt || "not built"]
    .filter((part) => part !== null && part !== true)
    .join(", ");

describe.each(await availableDatabases())("activity on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const { deliveries, tasks, projects } = store;
  const shop = (await projects.create(sampleProject())).id;
  const other = (await projects.create(sampleProject())).id;
  const list = async (filter: Partial<ActivityFilter> = {}) =>
    (await store.activity.list({ show: "changes", ...filter }, null, 50)).map(nameOf);

  const stored = (message: string, second: number, change: Partial<NewDelivery> = {}) =>
    sampleDelivery({
      ...{ project_id: shop, task_id: 0, commit_message: message, created_at: at(second) },
      ...change,
    });
  const ordered = (message: string, second: number, projectId = shop) => ({
    ...sampleTask({ projectId }),
    ...{ message, createdAt: at(second) },
  });
  const push = (message: string, second: number, change: Partial<NewDelivery> = {}) =>
    deliveries.createWithTask(
      stored(message, second, change),
      { ...ordered(message, second, change.project_id), triggerType: "webhook" },
      null,
    );
  const byHand = (message: string, second: number, projectId = shop) =>
    tasks.create({ ...ordered(message, second, projectId), triggerType: "manual", deliveryId: null });

  const first = await push("first", 10, { commit: "a".repeat(40) });
  await byHand("again", 20);
  await deliveries.create(
    stored("docs only", 30, { status: "ignored", code: "path_not_matched", ref: "docs" }),
  );
  const shared = await push("draft", 40);
  const final = await deliveries.create(
    stored("final", 41, { status: "merged", code: "debounced", merged_into_task_id: shared.task.id }),
  );
  await deliveries.replace(shared.id, final, shared.task.id);
  await deliveries.create(
    stored("same", 42, { status: "merged", code: "debounced", merged_into_task_id: shared.task.id }),
  );
  await push("elsewhere", 50, { project_id: other });
  await deliveries.create(stored("broken", 60, { status: "failed", code: "internal_error" }));
  await deliveries.create(
    stored("unsigned", 61, { status: "rejected", code: "signature_invalid", project_id: 0 }),
  );
  // Of the same moment: deliveries come first.
  await byHand("twin", 70);
  await deliveries.create(stored("twin", 70, { status: "failed", code: "internal_error" }));
  await tasks.change(first.task.id, { whileIn: ["queued"], set: { state: "failed", finishedAt: at(15) } });
  await tasks.change(shared.task.id, { whileIn: ["queued"], set: { state: "success", finishedAt: at(45) } });

  const changes = [
    "delivery twin, not built",
    "task twin",
    "delivery broken, not built",
    "delivery elsewhere, task elsewhere",
    "delivery same, task draft, not built",
    "delivery final, task draft",
    "delivery draft, task draft, not built",
    "task again",
    "delivery first, task first",
  ];
  const stopped = ["delivery twin", "delivery unsigned", "delivery broken", "delivery docs only"].map(
    (name) => `${name}, not built`,
  );

  test("a delivery and its task are one row; of deliveries that share a task one is built", async () => {
    expect(await list()).toEqual(changes);
    expect(await list({ show: "stopped" })).toEqual(stopped);
    expect((await list({ show: "all" })).toSorted()).toEqual(
      [...new Set([...changes, ...stopped])].toSorted(),
    );
  });

  test("the pages of any size are the whole list", async () => {
    for (const size of [1, 2, 5]) {
      const seen: string[] = [];
      let last: Activity | undefined;
      do {
        const place = last && {
          at: last.at,
          kind: last.delivery === null ? ("task" as const) : ("delivery" as const),
          id: last.delivery?.id ?? last.task?.id ?? 0,
        };
        const page = await store.activity.list({ show: "changes" }, place ?? null, size);
        seen.push(...page.map(nameOf));
        last = page.at(-1);
      } while (last !== undefined);
      expect(seen).toEqual(changes);
    }
  });

  test("filters by outcome, project, ref, commit, time, code, author and what started it", async () => {
    const built = ["delivery final, task draft"];
    const filters: [Partial<ActivityFilter>, string[]][] = [
      [{ outcome: "success" }, built],
      [{ outcome: "failed" }, [changes[0] ?? "", changes[2] ?? "", "delivery first, task first"]],
      [{ outcome: "ignored" }, ["delivery docs only, not built"]],
      [{ outcome: "merged" }, ["delivery same, task draft, not built", ...built]],
      [{ outcome: "running" }, []],
      [{ projectId: other }, ["delivery elsewhere, task elsewhere"]],
      [{ projectId: 0, show: "all" }, ["delivery unsigned, not built"]],
      [{ show: "all", search: "docs" }, ["delivery docs only, not built"]],
      [{ search: "aaaaaaaa" }, ["delivery first, task first"]],
      [{ from: at(20), to: at(41) }, ["delivery draft, task draft, not built", "task again"]],
      [{ show: "all", code: "signature_invalid" }, ["delivery unsigned, not built"]],
      [{ trigger: "manual" }, ["task twin", "task again"]],
      [{ trigger: "webhook", to: at(20) }, ["delivery first, task first"]],
      [{ author: "nobody" }, []],
    ];
    for (const [filter, expected] of filters)
      expect([filter, await list(filter)]).toEqual([filter, expected]);
  });

  test("only of the projects that somebody may view", async () => {
    expect(await list({ visibleProjectIds: [other] })).toEqual(["delivery elsewhere, task elsewhere"]);
    expect(await list({ show: "all", visibleProjectIds: [] })).toEqual([]);
    const both = await list({ visibleProjectIds: [shop, other] });
    expect(both).toEqual(changes);
  });

  test("a task whose delivery was deleted after its time is a row of its own", async () => {
    await deliveries.deleteOlderThan(at(11), 10);
    expect(await list({ to: at(30) })).toEqual(["task again", "task first"]);
    expect(await list({ projectId: shop, to: at(30), trigger: "webhook" })).toEqual(["task first"]);
    expect(await list({ visibleProjectIds: [shop, other], to: at(15) })).toEqual(["task first"]);
    await tasks.change(shared.task.id, { whileIn: ["success"], set: { state: "lost" } });
    expect(await list({ outcome: "lost" })).toEqual(["delivery final, task draft"]);
  });
});
