import { expect, test } from "bun:test";
import type { Store } from "../../src/model/store.ts";
import type { Lease } from "../../src/model/task.ts";
import type { TaskEvents } from "../../src/task/events/task-events.ts";
import { buildLeaseReaper } from "../../src/task/hand-out/lease-reaper.ts";
import { silentLog } from "../support/buses.ts";

test("an error with one lost lease does not stop the decision about the others", async () => {
  const leases = [1, 2].map((id) => ({ id, leaseHash: `${id}`, leaseUntil: new Date(0) }) as Lease);
  const decided: number[] = [];
  const store = {
    tasks: { leases: async () => leases },
    run: async (_: unknown, { lease }: { lease: Lease }) => {
      if (lease.id === 1) throw new Error("the database refuses this task");
      decided.push(lease.id);
      return null;
    },
  };
  let nowMs = 0;
  const reaper = buildLeaseReaper({
    store: store as unknown as Store,
    events: { consoleUrl: () => "" } as TaskEvents,
    leaseMs: 1_000,
    clock: { elapsed: () => nowMs },
    log: silentLog,
  });
  for (; nowMs < 3_000 && decided.length === 0; nowMs += 400) await reaper.reap();
  expect(decided).toEqual([2]);
});
