/**
 * A process that writes until it is killed: each line of its output is a delivery and its task that were acknowledged, and of
 * its errors a refused write.
 */
import { writeSync } from "node:fs";
import { messageOf } from "../../src/errors.ts";
import type { Store } from "../../src/model/store.ts";
import { openTestStore } from "./databases.ts";
import { sampleProject } from "./samples.ts";
import { recordPair } from "./store-operations.ts";

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
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!isOver()) {
        try {
          onAcknowledged(await store.run(recordPair, projectId));
        } catch (error) {
          onRefused(error);
          // A refused write is repeated, and not at once.
          await Bun.sleep(20);
        }
      }
    }),
  );
}

if (import.meta.main) {
  const url = process.argv[2] ?? "";
  const store = await openTestStore(url);
  const { id } = await store.projects.create(sampleProject());
  await writeBurst(
    store,
    id,
    () => false,
    ({ deliveryId, taskId }) => void writeSync(1, `${deliveryId} ${taskId}\n`),
    (error) => void writeSync(2, `${messageOf(error)}\n`),
  );
}
