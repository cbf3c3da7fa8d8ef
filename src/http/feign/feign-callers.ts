import type { Server } from "bun";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { comparableHash, isSameSecret } from "../../secrets.ts";
import type { CallHead } from "../call-head.ts";
import type { KeylessCalls } from "../keyless-calls.ts";
import { fail } from "./feign-envelope.ts";

interface FeignCredentials {
  /** Null: the call is allowed. */
  refusalOf(head: CallHead, request: Request, server: Pick<Server<unknown>, "requestIP">): Response | null;
  /** Who an admitted caller is, the same on every instance of a cluster; empty: calls need no key. */
  callerOf(head: CallHead): string;
}

/**
 * `shop:4f9c…` → `shop`, so that a caller stays the same when its key is replaced by another one with this name. A key
 * without a name is a caller of its own, known by a hash that is too short to find the key.
 */
export function callerOfKey(key: string): string {
  const name = /^([\w-]{1,64}):/.exec(key)?.[1];
  return name ?? `#${new Bun.CryptoHasher("sha256").update(key).digest("hex").slice(0, 8)}`;
}

/**
 * Keys that admit callers. They are compared as keyed hashes, so that the time of the comparison reveals neither content
 * nor length.
 */
export class ApiKeys {
  #digests: readonly Uint8Array[] = [];

  constructor(keys: readonly string[]) {
    this.replace(keys);
  }

  get isEmpty(): boolean {
    return this.#digests.length === 0;
  }

  replace(keys: readonly string[]): void {
    this.#digests = keys.map(comparableHash);
  }

  has(given: string): boolean {
    const digest = comparableHash(given);
    // All keys are compared, so that the time does not reveal which one matched.
    return this.#digests.filter((known) => crypto.timingSafeEqual(known, digest)).length > 0;
  }
}

/**
 * If API keys are set, a call needs one of them; otherwise the rules for calls without a key apply. Which of the two applies
 * does not change later.
 */
export function feignCredentials(apiKeys: ApiKeys, keyless: KeylessCalls): FeignCredentials {
  if (apiKeys.isEmpty) return keylessOnly(keyless);
  return {
    callerOf: (head) => callerOfKey(apiKeyOf(head) ?? ""),
    refusalOf(head) {
      const given = apiKeyOf(head);
      if (given === null)
        return unauthorized("", "An api key is needed: Authorization: Bearer or X-API-Key.");
      return apiKeys.has(given) ? null : unauthorized('error="invalid_token", ', "The api key is wrong.");
    },
  };
}

/**
 * The reason is also sent in a header: the HTTP client of the JDK, which Feign uses by default, drops the body of a 401
 * when it has streamed a request body.
 */
function unauthorized(error: string, message: string): Response {
  const challenge = `Bearer realm="slipway", ${error}error_description="${message}"`;
  return fail(failureCodes.keyMissing, message, { "www-authenticate": challenge });
}

function apiKeyOf({ authorization, apiKey }: CallHead): string | null {
  if (authorization === null) return apiKey;
  return /^Bearer +(.+)$/i.exec(authorization)?.[1]?.trim() ?? "";
}

function keylessOnly(keyless: KeylessCalls): FeignCredentials {
  return {
    callerOf: () => "",
    refusalOf(head, request, server) {
      const reason = keyless.refusalOf(head, request, server);
      return reason === null ? null : fail(failureCodes.keyNotAllowed, reason);
    },
  };
}

export interface CallerRules extends FeignCredentials {
  /** Whether an admitted call may act on the channels and users of the console. */
  mayActForConsole(head: CallHead): boolean;
  /** Whether the call proves by its key that it comes from the deploy service. */
  hasDeployKey(head: CallHead): boolean;
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
  const hasDeployKey = (head: CallHead) => {
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
