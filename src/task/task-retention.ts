import type { TaskRetentionKeeper } from "../model/task-retention.ts";

/** Each batch takes some milliseconds on SQLite. */
const tasksAtOnce = 50;
/** A row can be a quarter of a megabyte. */
const logRowsAtOnce = 20;

/** Deletes finished tasks that are older than `before`, their logs first: a log of ten megabytes takes many batches. */
export async function* expiredTasks(keeper: TaskRetentionKeeper, before: Date): AsyncGenerator<number> {
  for (let afterId: number | null = 0; afterId !== null; ) {
    const page = await keeper.after(afterId, before, tasksAtOnce);
    if (page.ids.length > 0) {
      while ((await keeper.deleteLogs(page.ids, logRowsAtOnce)) === logRowsAtOnce) yield 0;
      yield await keeper.delete(page.ids, before);
    }
    afterId = page.lastId;
  }
}
