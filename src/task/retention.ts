import type { ExpiredTaskKeeper } from "../model/expired-task.ts";

/** Each batch is some milliseconds of work on SQLite, which holds the loop meanwhile. */
const tasksAtOnce = 50;
/** A row is up to a quarter of a megabyte. */
const logRowsAtOnce = 20;

/** Deletes finished tasks that are older than `before`, the logs first: one of ten megabytes is many batches. */
export async function* expiredTasks(keeper: ExpiredTaskKeeper, before: Date): AsyncGenerator<number> {
  for (let afterId: number | null = 0; afterId !== null; ) {
    const page = await keeper.after(afterId, before, tasksAtOnce);
    if (page.ids.length > 0) {
      while ((await keeper.deleteLogs(page.ids, logRowsAtOnce)) === logRowsAtOnce) yield 0;
      yield await keeper.delete(page.ids, before);
    }
    afterId = page.lastId;
  }
}
