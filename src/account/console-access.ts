import { Fault, messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { channelsOfProjects, consoleUserId } from "../model/console/console-names.ts";
import type { Keepers } from "../model/store.ts";
import type { Role } from "../model/user.ts";

/** Close code 1012: the console reconnects, with a new code if it still gets one. */
const serviceRestart = 1012;

/** Delay before a failed call to the gateway is repeated. */
const retryMs = 2_000;
/** Far more than open consoles. Further users keep their grants until their session ends. */
const maxPending = 10_000;
const notApplied =
  "a change of access did not reach the console connections; they will be disconnected later";

export interface ConsoleAccessParts {
  keepers: Pick<Keepers, "users" | "permissions" | "pushCodes">;
  grant: (userId: string, channels: string[]) => Promise<void>;
  disconnect: (who: { userId: string }, closeCode?: number) => Promise<unknown>;
  log: Logger;
}

/**
 * Applies changes of permissions, sessions and tokens to open console connections, on all instances. Keeps no list of
 * users: each change names the users that it affects.
 */
export function buildConsoleAccess({ keepers, grant, disconnect, log }: ConsoleAccessParts) {
  let inProgress: Promise<void> = Promise.resolve();
  /** Users whose connections may still have revoked grants, because a call to the gateway failed. */
  const pending = new Set<number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  async function channelsFor(userId: number, role: Role): Promise<string[]> {
    return channelsOfProjects(role === "admin" ? "all" : await keepers.permissions.visibleProjectIds(userId));
  }

  /** An unused code has the channels of the time when it was issued. */
  async function revokeCodes(userId: number): Promise<void> {
    await keepers.pushCodes.deleteOfUser(consoleUserId(userId));
  }

  async function updateGrants(userId: number): Promise<void> {
    await revokeCodes(userId);
    const user = await keepers.users.byId(userId);
    if (!user || user.disabled) await disconnect({ userId: consoleUserId(userId) });
    else await grant(consoleUserId(userId), await channelsFor(userId, user.role));
  }

  async function reconnect(userId: number): Promise<void> {
    await revokeCodes(userId);
    await disconnect({ userId: consoleUserId(userId) }, serviceRestart);
  }

  /** One after another, so that changes are applied in their order. */
  function inOrder(userId: number, work: () => Promise<void>): void {
    inProgress = inProgress.then(work).catch((error: unknown) => {
      // "conflict": there is no gateway, so there are no connections.
      if (error instanceof Fault && error.code === "conflict") return;
      log.warn({ userId, error: messageOf(error) }, notApplied);
      if (pending.size < maxPending) pending.add(userId);
      retryLater();
    });
  }

  function retryLater(): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      inProgress = inProgress.then(retry).catch(retryLater);
    }, retryMs);
  }

  /** Reconnecting repairs any missed change, because a new connection gets the current grants. */
  async function retry(): Promise<void> {
    for (const userId of pending) {
      await reconnect(userId);
      pending.delete(userId);
    }
  }

  return {
    /**
     * Channel names and globs for a new connection. They depend only on the user, not on the scopes of a token, so that a
     * later change can grant the same channels to all connections of the user.
     */
    channelsFor,
    /** The permissions of these users changed: updates the grants of their connections; disconnects disabled users. */
    permissionsChanged(userIds: readonly number[]): void {
      for (const userId of new Set(userIds)) inOrder(userId, () => updateGrants(userId));
    },
    /** A session or token of the user ended: disconnects the user. Connections of other sessions reconnect. */
    sessionEnded(userId: number): void {
      inOrder(userId, () => reconnect(userId));
    },
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      await inProgress;
    },
  };
}
export type ConsoleAccess = ReturnType<typeof buildConsoleAccess>;
