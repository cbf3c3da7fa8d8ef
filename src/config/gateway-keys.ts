import type { Config, SettingKey } from "./config.ts";

/** Settings that a running gateway reads again on SIGHUP; all others need a restart. */
export const gatewayKeySettings = [
  "push.api-keys",
  "push.jwt.secrets",
  "push.jwt.key-file",
] as const satisfies SettingKey[];

export type GatewayKeys = Pick<Config, (typeof gatewayKeySettings)[number]>;

export function gatewayKeysOf(config: GatewayKeys): GatewayKeys {
  return {
    "push.api-keys": config["push.api-keys"],
    "push.jwt.secrets": config["push.jwt.secrets"],
    "push.jwt.key-file": config["push.jwt.key-file"],
  };
}
