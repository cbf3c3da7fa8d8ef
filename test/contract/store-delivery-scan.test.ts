import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DeliveryPlace, ScannedDelivery } from "../../src/model/delivery.ts";
import type { Store } from "../../src/model/store.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { sampleDelivery, sampleProject, sampleTime } from "../support/samples.ts";

const at = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())(
  "deliveries as a bulk replay looks at them on $name",
  ({ make }) => {
    let database: TestDatabase;
    let store: Store;
    beforeAll(async () => {
      database = await make();
      store = await database.open();
    });
    afterAll(() => database.remove());

    const addProject = async () => (await store.projects.create(sampleProject())).id;

    test("a list is walked from any place on, also between deliveries of the same moment", async () => {
      const projectId = await addProject();
      const other = await addProject();
      const ids: number[] = [];
      for (const seconds of [1, 2, 2, 2, 3])
        ids.push(
          await store.deliveries.create(sampleDelivery({ project_id: projectId, created_at: at(seconds) })),
        );
      const newestFirst = ids.toReversed();
      for (const filter of [{ projectId }, { visibleProjectIds: [projectId, other] }]) {
        const walked: number[] = [];
        let place: DeliveryPlace | null = null;
        for (;;) {
          const [next]: ScannedDelivery[] = await store.deliveries.scan(filter, place, 1);
          if (next === undefined) break;
          walked.push(next.id);
          place = next;
        }
        expect(walked).toEqual(newestFirst);
        expect((await store.deliveries.scan(filter, null, 2)).map(({ id }) => id)).toEqual(
          newestFirst.slice(0, 2),
        );
      }
    });

    test("a delivery is overtaken by a newer accepted one of the same project, event and ref", async () => {
      const [projectId, other] = [await addProject(), await addProject()];
      const add = (change: Parameters<typeof sampleDelivery>[0]) =>
        store.deliveries.create(sampleDelivery({ project_id: projectId, ref: "main", ...change }));
      const before = await add({ created_at: at(1) });
      const old = await add({ created_at: at(2), status: "ignored", code: "skip_keyword" });
      expect(await store.deliveries.overtaken([old, before])).toEqual([]);
      await add({ created_at: at(3), ref: "next" });
      await add({ created_at: at(3), project_id: other });
      await add({ created_at: at(3), event: "tag" });
      await add({ created_at: at(3), status: "ignored", code: "skip_keyword" });
      expect(await store.deliveries.overtaken([old])).toEqual([]);
      const accepted = await add({ created_at: at(2) });
      expect(await store.deliveries.overtaken([accepted, old, before])).toEqual(
        expect.arrayContaining([old, before]),
      );
      expect(await store.deliveries.overtaken([accepted])).toEqual([]);
    });

    test("a delivery is overtaken by a newer merged one, and by a deletion that the host told", async () => {
      const projectId = await addProject();
      const add = (change: Parameters<typeof sampleDelivery>[0]) =>
        store.deliveries.create(sampleDelivery({ project_id: projectId, created_at: at(2), ...change }));
      const [merged, deleted, tried] = [
        await add({ ref: "merged" }),
        await add({ ref: "deleted" }),
        await add({ ref: "tried" }),
      ];
      await add({ ref: "merged", status: "merged", code: "debounced" });
      await add({ ref: "deleted", status: "ignored", code: "ref_deleted" });
      for (const remote_ip of ["test", "replay"])
        await add({ ref: "tried", status: "ignored", code: "ref_deleted", remote_ip });
      const overtaken = await store.deliveries.overtaken([merged, deleted, tried]);
      expect(overtaken.toSorted((a, b) => a - b)).toEqual([merged, deleted]);
    });
  },
);
