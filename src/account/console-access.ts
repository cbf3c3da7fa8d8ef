import type { Log } from "../log.ts";
import type { Keepers } from "../model/store.ts";

/** What the console's live connection may hear: the private channels of the projects that its user may view. */
export function channelsOfProjects(projectIds: readonly number[] | "all"): string[] {
  if (projectIds === "all") return ["private-project-*", "private-project-*/*"];
  return projectIds.flatMap((id) => [`private-project-${id}`, `private-project-${id}/*`]);
}

/** User ids of the console's own connections; no application's user may be named so. */
export const consoleUserPrefix = "slipway:";

export function consoleUserId(userId: number): string {
  return `${consoleUserPrefix}${userId}`;
}

export interface ConsoleAccessParts {
  keepers: Pick<Keepers, "users" | "permissions">;
  grant: (userId: string, channels: string[]) => Promise<void>;
  disconnect: (who: { userId: string }) => Promise<unknown>;
  log: Log;
}

/** People who had the console open since then are more than enough for one installation. */
const maxWatched = 10_000;
/** Changes that come together are followed together. */
const refreshDelayMs = 50;

/** Makes the grants of open console connections follow their users' permissions, in both directions. */
export class ConsoleAccess {
  readonly #parts: ConsoleAccessParts;
  readonly #watched = new Set<number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: ConsoleAccessParts) {
    this.#parts = parts;
  }

  /** Names and globs for a new connection; the user is followed from now on. */
  async channelsFor(userId: number, isAdmin: boolean): Promise<string[]> {
    if (this.#watched.size >= maxWatched) this.#watched.clear();
    this.#watched.add(userId);
    return channelsOfProjects(
      isAdmin ? "all" : await this.#parts.keepers.permissions.visibleProjectIds(userId),
    );
  }

  /** Somebody's permissions may have changed: who is watched is looked at again, a moment later. */
  permissionsChanged(): void {
    if (this.#watched.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.refresh().catch((error: unknown) =>
        this.#parts.log.warn({ error: String(error) }, "console connections keep their grants for now"),
      );
    }, refreshDelayMs);
  }

  async refresh(): Promise<void> {
    for (const userId of [...this.#watched]) await this.#follow(userId);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #follow(userId: number): Promise<void> {
    const { keepers, grant, disconnect } = this.#parts;
    const user = await keepers.users.byId(userId);
    if (!user || user.disabled) {
      this.#watched.delete(userId);
      await disconnect({ userId: consoleUserId(userId) });
      return;
    }
    await grant(consoleUserId(userId), await this.channelsFor(userId, user.role === "admin"));
  }
}
