import { isSameSecret } from "../secrets.ts";
import { apiKeyOf, type FeignCredentials } from "./feign/feign-credentials.ts";
import type { FeignHead } from "./feign/feign-head.ts";

export interface CallerRules extends FeignCredentials {
  /** Whether an admitted call may act on the channels and users of the console. */
  mayActForConsole(head: FeignHead): boolean;
  /** Whether the call proves by its key that it comes from the deploy service. */
  hasDeployKey(head: FeignHead): boolean;
}

export interface ConsoleRules {
  /** `push.deploy-key`: only a caller with this key is the deploy service. */
  deployKey: string | undefined;
  /**
   * Whether, without a deploy key, an admitted caller with the deploy service's header is trusted. False if the deploy
   * service runs in this process, because it never calls /feign then.
   */
  trustsHeader: boolean;
  reservesConsoleNames: boolean;
}

/** Not a name that a key can have. */
const deployService = "#deploy";

export function callerRules(
  credentials: FeignCredentials,
  { deployKey, trustsHeader, reservesConsoleNames }: ConsoleRules,
): CallerRules {
  const hasDeployKey = (head: FeignHead) => {
    const given = apiKeyOf(head);
    return deployKey !== undefined && given !== null && isSameSecret(given, deployKey);
  };
  return {
    hasDeployKey,
    refusalOf: (head, request, server) =>
      deployKey !== undefined && hasDeployKey(head) ? null : credentials.refusalOf(head, request, server),
    callerOf: (head) => (hasDeployKey(head) ? deployService : credentials.callerOf(head)),
    mayActForConsole(head) {
      if (!reservesConsoleNames) return true;
      return deployKey === undefined ? trustsHeader && head.isFromDeployService : hasDeployKey(head);
    },
  };
}
