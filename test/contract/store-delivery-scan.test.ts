import { describe, expect, test } from "bun:test";
import { normalized } from "../../src/git-host/delivery/normalized.ts";
import type { Delivery, DeliveryPlace, ScannedDelivery } from "../../src/model/delivery.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleDelivery, sampleProject, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const at = (seconds: number) => new Date(sampleTime.getTime() + seconds * 1000);

describe.each(await availableDatabases())(
  "deliveries as a bulk replay looks at them on $name",
  async ({ make }) => {
    const { store } = await setUpStore(make);

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

    const add = ({
      ref = "main",
      rawRef = `refs/heads/${ref}`,
      ...change
    }: Partial<Delivery> & { rawRef?: string }) =>
      store.deliveries.create(sampleDelivery({ ref, normalized: normalized({ ref, rawRef }), ...change }));
    const overtaken = async (...ids: number[]) =>
      (await store.deliveries.overtaken(ids)).toSorted((a, b) => a - b);

    test.each([
      ["a NUL", "one \u0000 two"],
      ["half a character", "one \ud83d two"],
      ["the other half", "one \ude00 two"],
      ["text that looks like such an escape", "one \\u0000 \\ud83d two \\"],
      ["whole characters beyond the first plane", "one \u{1f600} two"],
    ])("a message with %s keeps nobody from seeing what was overtaken", async (_name, message) => {
      const project_id = await addProject();
      const event = normalized({ ref: "main", rawRef: "refs/heads/main", message });
      const [old, next, other] = [
        await add({ project_id, created_at: at(1), normalized: event }),
        await add({ project_id, created_at: at(2), normalized: event }),
        await add({ project_id, created_at: at(3), normalized: { ...event, rawRef: "refs/tags/main" } }),
      ];
      expect(await overtaken(old, next, other)).toEqual([old]);
    });

    test("a delivery is overtaken by a newer accepted one of the same project and ref", async () => {
      const [project_id, other] = [await addProject(), await addProject()];
      const before = await add({ project_id, created_at: at(1) });
      const old = await add({ project_id, created_at: at(2), status: "ignored", code: "skip_keyword" });
      expect(await overtaken(old, before)).toEqual([]);
      await add({ project_id, created_at: at(3), ref: "next" });
      await add({ project_id: other, created_at: at(3) });
      await add({ project_id, created_at: at(3), rawRef: "refs/tags/main", event: "tag" });
      await add({ project_id, created_at: at(3), rawRef: "refs/pull/7/head", event: "merge_request" });
      await add({ project_id, created_at: at(3), status: "ignored", code: "skip_keyword" });
      expect(await overtaken(old)).toEqual([]);
      const accepted = await add({ project_id, created_at: at(2), event: "merge_request" });
      expect(await overtaken(accepted, old, before)).toEqual([before, old]);
    });

    test("a delivery is overtaken by a replay of itself or of a newer one, not by one of an older", async () => {
      const project_id = await addProject();
      const [first, second, third] = [
        await add({ project_id, created_at: at(1), status: "ignored" }),
        await add({ project_id, created_at: at(2), status: "ignored" }),
        await add({ project_id, created_at: at(3), status: "ignored" }),
      ];
      await add({ project_id, created_at: at(4), remote_ip: "replay", replay_of: second });
      expect(await overtaken(first, second, third)).toEqual([first, second]);
    });

    test("a delivery is overtaken by a newer merged one, and by a deletion that the host reported", async () => {
      const project_id = await addProject();
      const [merged, deleted, tried] = [
        await add({ project_id, ref: "merged" }),
        await add({ project_id, ref: "deleted" }),
        await add({ project_id, ref: "tried" }),
      ];
      await add({ project_id, ref: "merged", status: "merged", code: "debounced" });
      await add({ project_id, ref: "deleted", status: "ignored", code: "ref_deleted" });
      for (const remote_ip of ["test", "replay"])
        await add({ project_id, ref: "tried", status: "ignored", code: "ref_deleted", remote_ip });
      expect(await overtaken(merged, deleted, tried)).toEqual([merged, deleted]);
    });
  },
);
