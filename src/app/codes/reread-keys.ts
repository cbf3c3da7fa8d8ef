import { type Config, settingKeys } from "../../config/config.ts";
import { ConfigError } from "../../config/config-load.ts";
import { type GatewayKeys, gatewayKeySettings, gatewayKeysOf } from "../../config/gateway-keys.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { acceptsJwt, jwtFaults } from "./jwt-codes.ts";

export interface RereadOptions {
  /** The settings that the server was started with. */
  config: Config;
  /** Reads the settings again, from the same file, variables and flags. */
  read: () => Promise<Config>;
  /** Null: this role has no gateway. */
  replace: ((keys: GatewayKeys) => Promise<void>) | null;
  log: Logger;
}

/** The answer to SIGHUP: reads the keys of callers and of JWTs again, and nothing else. One run at a time, never rejects. */
export function rereadKeys({ config, read, replace, log }: RereadOptions): () => Promise<void> {
  let current = gatewayKeysOf(config);
  let running = Promise.resolve();

  async function reread(): Promise<void> {
    const given = await read();
    const faults = await jwtFaults(given);
    if (faults.length > 0) throw new ConfigError(faults);
    const next = replace === null ? current : sameKinds(current, given);
    await replace?.(next);
    const changes = changesOf(current, next);
    current = next;
    const inForce = { ...config, ...next };
    const needRestart = settingKeys.filter((key) => isOther(inForce[key], given[key]));
    log.info({ changes, needRestart }, "SIGHUP: the keys were read again; other settings need a restart");
  }

  return () => {
    running = running.then(reread).catch((error: unknown) => {
      log.error(
        { reason: messageOf(error) },
        "SIGHUP: the keys could not be read again; the earlier ones stay valid",
      );
    });
    return running;
  };
}

/**
 * The new keys, except where the first key is added or the last one removed: that changes who needs a key at all, which a
 * file that is being written must not do.
 */
function sameKinds(current: GatewayKeys, given: Config): GatewayKeys {
  const keepsKeys = current["push.api-keys"].length === 0 || given["push.api-keys"].length === 0;
  const jwtUrl = { "push.jwt.jwks-url": given["push.jwt.jwks-url"] };
  const keepsJwt = acceptsJwt({ ...current, ...jwtUrl }) !== acceptsJwt(given);
  return {
    ...gatewayKeysOf(keepsJwt ? current : given),
    "push.api-keys": (keepsKeys ? current : given)["push.api-keys"],
  };
}

function changesOf(before: GatewayKeys, after: GatewayKeys): string[] {
  return gatewayKeySettings.flatMap((key) => {
    const [old, now] = [before[key], after[key]];
    if (!Array.isArray(old) || !Array.isArray(now)) return now === undefined ? [] : [`${key}: read again`];
    const added = now.filter((entry) => !old.includes(entry)).length;
    const removed = old.filter((entry) => !now.includes(entry)).length;
    return added + removed === 0 ? [] : [`${key}: ${added} added, ${removed} removed`];
  });
}

function isOther(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}
