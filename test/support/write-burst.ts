/** A process that writes until it is killed: each line of its output is a delivery and its task that were acknowledged. */
import { writeSync } from "node:fs";
import pino from "pino";
import type { Store } from "../../src/model/store.ts";
import { openStore } from "../../src/store/database.ts";
import { sampleDelivery, sampleProject, sampleTask } from "./samples.ts";

const lanes = 20;

export interface Acknowledged {
  deliveryId: number;
  taskId: number;
}

/** Writes concurrently until `isOver`; a refused write is followed by the next. */
export async function writeBurst(
  store: Store,
  projectId: number,
  isOver: () => boolean,
  onAcknowledged: (pair: Acknowledged) => void,
  onRefused: (error: unknown) => void,
): Promise<void> {
  const write = () =>
    store.transaction(async (keepers) => {
      const task = await keepers.tasks.create(sampleTask({ projectId }));
      const delivery = sampleDelivery({ project_id: projectId, task_id: task.id, created_at: new Date() });
      return { deliveryId: await keepers.deliveries.create(delivery), taskId: task.id };
    });
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!isOver()) {
        try {
          onAcknowledged(await write());
        } catch (error) {
          onRefused(error);
          await Bun.sleep(20);
        }
      }
    }),
  );
}

if (import.meta.main) {
  const url = process.argv[2] ?? "";
  const store = await openStore({ url, log: pino({ level: "silent" }) });
  const { id } = await store.projects.create(sampleProject());
  await writeBurst(
    store,
    id,
    () => false,
    ({ deliveryId, taskId }) => void writeSync(1, `${deliveryId} ${taskId}\n`),
    (error) => {
      throw error;
    },
  );
}
