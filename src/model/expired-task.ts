/**
 * Finished tasks past their time. Never among them are the last task of a project and the one that is live, whatever
 * their age: they say how the project stands.
 */
export interface ExpiredTaskKeeper {
  /**
   * Of the next `limit` tasks behind `afterId` those that finished before `before` and may go; `lastId` is where to go
   * on, null when all that follow are younger.
   */
  after(afterId: number, before: Date, limit: number): Promise<{ ids: number[]; lastId: number | null }>;
  /** Deletes at most `limit` rows of the logs of these tasks; answers how many. */
  deleteLogs(ids: number[], limit: number): Promise<number>;
  /** Deletes those of these tasks that may still go; answers how many. */
  delete(ids: number[], before: Date): Promise<number>;
}
