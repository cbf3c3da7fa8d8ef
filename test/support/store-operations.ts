import { operation } from "../../src/model/store.ts";
import { waitAtGate } from "./gate.ts";
import { sampleDelivery, sampleTask } from "./samples.ts";

interface Values {
  names: string[];
  value: string;
  failure?: string;
}

/** Sets values one after the other, then fails if the input says so. */
export const setValues = operation("testSetValues", async ({ meta }, { names, value, failure }: Values) => {
  for (const name of names) await meta.set(name, value);
  if (failure !== undefined) throw new Error(failure);
  return names.length;
});

interface SlowAppend {
  name: string;
  text: string;
  ms: number;
  /** The folder of a gate; `ms` is then the limit of the wait. */
  gate?: string;
}

/** Appends to a value and keeps the others of its lock waiting meanwhile. */
export const appendSlowly = operation(
  "testAppendSlowly",
  async ({ meta }, { name, text, ms, gate }: SlowAppend) => {
    const before = (await meta.get(name)) ?? "";
    // The work of a slow operation.
    await (gate === undefined ? Bun.sleep(ms) : waitAtGate(gate, ms));
    await meta.set(name, before + text);
    return before;
  },
);

/** Answers what it is given, and the time that it sees. */
export const echo = operation("testEcho", async ({ now }, input: unknown) => ({ input, now: now() }));

/** Ends the thread that executes it. */
export const crash = operation("testCrash", async () => process.exit(3));

/** A delivery and its task, by two calls of keepers. */
export const recordPair = operation("testRecordPair", async (keepers, projectId: number) => {
  const task = await keepers.tasks.create(sampleTask({ projectId }));
  const delivery = sampleDelivery({ project_id: projectId, task_id: task.id, created_at: keepers.now() });
  return { deliveryId: await keepers.deliveries.create(delivery), taskId: task.id };
});

/** The operations of tests, beside those of the product. */
export const testOperations = [setValues, appendSlowly, echo, crash, recordPair];
