/**
 * Deletes finished tasks that are older than the retention time. The last task of a project, the live one and those whose
 * release is kept stay, however old they are.
 */
export interface TaskRetentionKeeper {
  /**
   * Looks at the next `limit` tasks after `afterId` and returns those that may be deleted. `lastId` is the `afterId` of
   * the next call; null if all further tasks are newer.
   */
  after(afterId: number, before: Date, limit: number): Promise<{ ids: number[]; lastId: number | null }>;
  /** Deletes at most `limit` log rows of these tasks; returns the number. */
  deleteLogs(ids: number[], limit: number): Promise<number>;
  /** Deletes the tasks that may still be deleted; returns the number. */
  delete(ids: number[], before: Date): Promise<number>;
}
