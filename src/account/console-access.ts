import { Fault, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { channelsOfProjects, consoleUserId } from "../model/console-names.ts";
import type { Keepers } from "../model/store.ts";
import type { Role } from "../model/user.ts";

/** "Come back soon": the console does, with a fresh code if it still gets one. */
const serviceRestart = 1012;

/** How soon an order that did not reach the gateway is made good. */
const retryMs = 2_000;
/** More than have the console open anywhere; those beyond keep their grants until their session ends. */
const maxOwed = 10_000;
const notTold = "console connections could not be told of a change; they are sent away as soon as that works";

export interface ConsoleAccessParts {
  keepers: Pick<Keepers, "users" | "permissions" | "pushCodes">;
  grant: (userId: string, channels: string[]) => Promise<void>;
  disconnect: (who: { userId: string }, closeCode?: number) => Promise<unknown>;
  log: Log;
}

/**
 * Makes open console connections follow their users, in both directions. It remembers nobody: whoever changes a
 * permission names the users, and the order reaches their connections on whatever instance they are.
 */
export interface ConsoleAccess {
  /**
   * Names and globs for a new connection. They follow from the user alone: the scopes of a token say what it may do, not
   * which projects it sees, so that a later change can grant all connections of a user the same.
   */
  channelsFor(userId: number, role: Role): Promise<string[]>;
  /** What these users may view has changed: their connections are granted anew; who was disabled is sent away. */
  permissionsChanged(userIds: readonly number[]): void;
  /** A session or token of the user was ended: the connections end too, and those of the others come back. */
  sessionEnded(userId: number): void;
  close(): Promise<void>;
}

export function buildConsoleAccess({ keepers, grant, disconnect, log }: ConsoleAccessParts): ConsoleAccess {
  let inHand: Promise<void> = Promise.resolve();
  /** Users whose connections may still hear what they no longer should. */
  const owed = new Set<number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  async function channelsFor(userId: number, role: Role): Promise<string[]> {
    return channelsOfProjects(role === "admin" ? "all" : await keepers.permissions.visibleProjectIds(userId));
  }

  /** Codes that are out hold what their user might view when they were made. */
  async function recall(userId: number): Promise<void> {
    await keepers.pushCodes.deleteOfUser(consoleUserId(userId));
  }

  async function follow(userId: number): Promise<void> {
    await recall(userId);
    const user = await keepers.users.byId(userId);
    if (!user || user.disabled) await disconnect({ userId: consoleUserId(userId) });
    else await grant(consoleUserId(userId), await channelsFor(userId, user.role));
  }

  async function sendAway(userId: number): Promise<void> {
    await recall(userId);
    await disconnect({ userId: consoleUserId(userId) }, serviceRestart);
  }

  /** One after another, so that of two changes the later one is also told later. */
  function inOrder(userId: number, work: () => Promise<void>): void {
    inHand = inHand.then(work).catch((error: unknown) => {
      // Without a gateway there is nobody to tell.
      if (error instanceof Fault && error.code === "conflict") return;
      log.warn({ userId, error: messageOf(error) }, notTold);
      if (owed.size < maxOwed) owed.add(userId);
      makeGoodSoon();
    });
  }

  function makeGoodSoon(): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      inHand = inHand.then(makeGood).catch(makeGoodSoon);
    }, retryMs);
  }

  /** Whatever it was that they missed: who comes back is granted what is right by then. */
  async function makeGood(): Promise<void> {
    for (const userId of owed) {
      await sendAway(userId);
      owed.delete(userId);
    }
  }

  return {
    channelsFor,
    permissionsChanged(userIds) {
      for (const userId of new Set(userIds)) inOrder(userId, () => follow(userId));
    },
    sessionEnded(userId) {
      inOrder(userId, () => sendAway(userId));
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await inHand;
    },
  };
}
