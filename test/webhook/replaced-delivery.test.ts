import { describe, expect, test } from "bun:test";
import { setUpApi, setUpHooks } from "../support/api-setup.ts";
import { availableDatabases } from "../support/databases.ts";
import { deliveriesOf, deliverTo, deliveryOf, makeHook, sha, tasksOf } from "../support/hook.ts";

const push = (ref: string, commit: string) => ({
  payload: { event: "push", ref: `refs/heads/${ref}`, author: "ann", ...(commit && { commit: sha(commit) }) },
});

describe("a delivery whose task another one took over within the debounce window", async () => {
  const server = await setUpApi();
  const hook = await makeHook(server, { debounceSeconds: 3600 });

  const record = (id: unknown) => deliveryOf(server.admin, id);
  const deliver = async (ref: string, commit: string) =>
    (await hook.deliver(push(ref, commit))).body.deliveryId;
  const ids: unknown[] = [];

  test("names the later delivery in its record, its reason, its trace and in lists", async () => {
    const first = await deliver("main", "1");
    expect(await record(first)).toMatchObject({
      status: "accepted",
      replaced_by: null,
      reason: "All filters passed.",
    });
    const second = await deliver("dev", "2");
    const replaced = await record(first);
    const sentence = `Delivery ${second} took over the task within the debounce window: the task builds the ref and commit of that delivery.`;
    expect(replaced).toMatchObject({
      status: "accepted",
      replaced_by: second,
      reason: `All filters passed. ${sentence}`,
    });
    expect((replaced.trace as object[]).at(-1)).toMatchObject({
      step: "replaced",
      result: "stop",
      value: `delivery ${second}`,
      pattern: "",
      detail: sentence,
    });
    const listed = await deliveriesOf(server.admin, hook.projectId);
    expect(listed.map(({ id, replaced_by }) => [id, replaced_by])).toEqual([
      [second, null],
      [first, second],
    ]);
    expect(String(listed[1]?.reason)).toContain(sentence);
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([{ ref: "refs/heads/dev" }]);
    ids.push(first, second);
  });

  test("names the delivery that replaced it; in a chain each names the next", async () => {
    const [first, second] = ids;
    const third = await deliver("main", "3");
    const fourth = await deliver("main", "4");
    const replacedBy = async (id: unknown) => (await record(id)).replaced_by;
    expect(await replacedBy(first)).toBe(Number(second));
    expect(await replacedBy(second)).toBe(Number(third));
    expect(await replacedBy(third)).toBe(Number(fourth));
    expect(await replacedBy(fourth)).toBeNull();
    ids.push(third, fourth);
  });

  test("also if the later one has no commit and is not built", async () => {
    const fourth = ids.at(-1);
    const other = await deliver("other", "");
    expect(await record(other)).toMatchObject({ status: "merged", replaced_by: fourth });
    expect(await record(fourth)).toMatchObject({ replaced_by: null });
    const fifth = await deliver("dev", "5");
    expect(await record(fourth)).toMatchObject({ replaced_by: fifth });
    expect(await record(other)).toMatchObject({ replaced_by: fourth });
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([
      { ref: "refs/heads/dev", commit: sha("5") },
    ]);
  });

  test("is shown by a what-if too", async () => {
    const path = `/api/projects/${hook.projectId}/webhook/what-if`;
    const { items } = await server.admin.expect<{
      items: { delivery: { id: number; replaced_by: number } }[];
    }>(200, "POST", path, {});
    expect(items.find(({ delivery }) => delivery.id === ids[0])?.delivery.replaced_by).toBe(Number(ids[1]));
  });

  test("but not for another ref if each ref has its own window", async () => {
    const apart = await makeHook(server, { debounceSeconds: 3600, debounceScope: "ref" });
    const main = (await apart.deliver(push("main", "1"))).body.deliveryId;
    const dev = (await apart.deliver(push("dev", "2"))).body.deliveryId;
    expect([(await record(main)).replaced_by, (await record(dev)).replaced_by]).toEqual([null, null]);
  });
});

describe.each(await availableDatabases())("on $name", async ({ make }) => {
  const server = await setUpHooks(make);

  test("the record that is replaced may be deleted before or after", async () => {
    const { deliveries } = server.store;
    const { id, url } = await server.project({ debounceSeconds: 3600 });
    const deliver = async (ref: string, commit: string) =>
      Number((await deliverTo(url, push(ref, commit))).body.deliveryId);
    const first = await deliver("main", "1");
    const second = await deliver("dev", "2");
    expect((await deliveries.byId(first))?.replaced_by).toBe(second);
    const page = await deliveries.list({ projectId: id }, { page: 1, pageSize: 10 });
    expect(page.items.map(({ replaced_by }) => replaced_by)).toEqual([null, second]);
    expect((await deliveries.latest({ projectId: id }, 10)).map(({ replaced_by }) => replaced_by)).toEqual([
      null,
      second,
    ]);
    const third = await deliver("main", "3");
    expect((await deliveries.byId(second))?.replaced_by).toBe(third);
    expect(await deliveries.deleteOfProject(id, 10)).toBe(3);
    expect(await deliveries.byId(first)).toBeNull();
    const [task] = (await server.store.tasks.list({ projectId: id }, { page: 1, pageSize: 1 })).items;
    if (!task) throw new Error("no task");
    await deliveries.replace(third, 4711, task.id);
    expect(await deliveries.builtBy(task)).toBe(first);
  });
});
