import { fdatasync, openSync } from "node:fs";
import { messageOf } from "../../errors.ts";
import { type Failure, failedSync, type GroupAnswer } from "./thread-message.ts";

/**
 * Holds answers back until what they acknowledge is on disk. One sync is for all that was committed before it, and runs
 * while further groups are written. It is what synchronous=FULL does inside of the commit, without the file's times, which
 * cost another write.
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
      // The kernel reports it once and may have dropped the pages: only a restart tells what is on disk.
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
      // Answers keep the order of the groups, and one that only read may have read what is not on disk yet.
      if (!hasWritten && !isSyncing) return post(answer);
      unsynced.push(answer);
      if (!isSyncing) sync();
    },
    /** Set for good by the first sync that fails: what is written after it stands on what may be lost. */
    failure: () => failure,
  };
}
