import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { PushDesk } from "../push-desk.ts";
import { consoleUserPrefix } from "./push.ts";

/** "Come back soon": the console does so with a fresh code, whose grants are the permissions of that moment. */
const serviceRestart = 1012;

/** Tells that what these users may view has changed. */
export type ViewersChanged = (userIds: readonly number[]) => void;

/**
 * Grants of a live connection are fixed when it opens. So when a permission, a role or a session ends, the user's
 * console connections end with it, and only those who still may come back.
 */
export function buildViewersChanged(desk: Pick<PushDesk, "disconnect">, log: Log): ViewersChanged {
  return (userIds) => {
    for (const userId of new Set(userIds))
      desk.disconnect({ userId: consoleUserPrefix + userId }, serviceRestart).catch((error: unknown) => {
        log.warn({ userId, error: messageOf(error) }, "live connections could not be ended");
      });
  };
}
