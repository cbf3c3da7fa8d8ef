import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { SessionKeeper } from "../model/user.ts";
import type { ConsoleAccess } from "./console-access.ts";

const everyMs = 60_000;

export interface ExpiredSessionsOptions {
  sessions: Pick<SessionKeeper, "deleteExpired">;
  consoleAccess: Pick<ConsoleAccess, "sessionEnded">;
  clock: Clock;
  log: Log;
}

/** Deletes sessions that are past their time, and ends what hung on them: a live view asks nobody again. */
export interface ExpiredSessions {
  start(): void;
  close(): Promise<void>;
}

export function buildExpiredSessions(options: ExpiredSessionsOptions): ExpiredSessions {
  const { sessions, consoleAccess, clock, log } = options;
  let timer: ReturnType<typeof setInterval> | undefined;
  let running: Promise<void> | null = null;

  async function sweep(): Promise<void> {
    try {
      for (const userId of new Set(await sessions.deleteExpired(new Date(clock.now()))))
        consoleAccess.sessionEnded(userId);
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        "expired sessions could not be deleted; the next round tries again",
      );
    }
    running = null;
  }

  return {
    start() {
      running = sweep();
      timer = setInterval(() => {
        running ??= sweep();
      }, everyMs);
    },
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
