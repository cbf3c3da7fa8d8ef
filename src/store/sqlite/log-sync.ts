import { fdatasync, openSync } from "node:fs";
import { messageOf } from "../../errors.ts";
import { type Failure, failedSync, type GroupAnswer } from "./thread-message.ts";

/**
 * Delays acknowledgements until their data is on disk. One sync covers everything committed before it, and runs while
 * further groups are written. It does what synchronous=FULL does inside the commit, but does not write the file's
 * times.
 */
export function buildLogSync(logFile: string, post: (answer: GroupAnswer) => void) {
  let unsynced: GroupAnswer[] = [];
  let isSyncing = false;
  let log: number | null = null;
  let failure: Failure | null = null;

  function sync(): void {
    const answers = unsynced;
    unsynced = [];
    isSyncing = true;
    const done = (error: Error | null) => {
      isSyncing = false;
      // The kernel reports a failed sync once and may have dropped the pages; only a restart shows what is on disk.
      if (error !== null)
        failure = {
          message: `The database could not be synced to disk: ${messageOf(error)}`,
          fault: "unavailable",
          code: failedSync,
        };
      for (const answer of answers) post(failure === null ? answer : { failure });
      if (unsynced.length > 0) sync();
    };
    try {
      log ??= openSync(logFile, "r+");
      fdatasync(log, done);
    } catch (error) {
      done(error as Error);
    }
  }

  return {
    answer(answer: GroupAnswer) {
      const hasWritten = "outcomes" in answer && answer.hasWritten;
      // Acknowledgements keep the order of the groups: a group that only read may have read data that is not on disk
      // yet.
      if (!hasWritten && !isSyncing) return post(answer);
      unsynced.push(answer);
      if (!isSyncing) sync();
    },
    /** Set for good by the first failed sync: later writes depend on data that may be lost. */
    failure: () => failure,
  };
}
