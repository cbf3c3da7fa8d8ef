import { isSameSecret } from "../secrets.ts";
import { type FeignCredentials, keyOf } from "./feign-credentials.ts";
import type { FeignHead } from "./feign-head.ts";

export interface CallerRules extends FeignCredentials {
  /** Whether a call that was let in may act on the channels and users of the console. */
  mayActForConsole(head: FeignHead): boolean;
}

/**
 * With `push.deploy-key` only a caller with that key is the deploy service. Without it, every admitted caller that sends
 * the header of the deploy service is.
 */
export function callerRules(
  credentials: FeignCredentials,
  deployKey: string | undefined,
  reservesConsoleNames: boolean,
): CallerRules {
  const hasDeployKey = (head: FeignHead) => {
    const given = keyOf(head);
    return deployKey !== undefined && given !== null && isSameSecret(given, deployKey);
  };
  return {
    refusalOf: (head, request, server) =>
      deployKey !== undefined && hasDeployKey(head) ? null : credentials.refusalOf(head, request, server),
    mayActForConsole(head) {
      if (!reservesConsoleNames) return true;
      return deployKey === undefined ? head.isFromDeployService : hasDeployKey(head);
    },
  };
}
