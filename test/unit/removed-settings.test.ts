import { expect, test } from "bun:test";
import { join } from "node:path";
import { environmentName, flagName, isSettingKey } from "../../src/config/config.ts";
import { ConfigError, type ConfigSources, loadConfig } from "../../src/config/config-load.ts";
import { removedSettings } from "../../src/config/removed-settings.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("removed-settings");

async function faultsOf(sources: Partial<ConfigSources>) {
  const error = await loadConfig({ env: {}, flags: {}, ...sources }).catch((reason: unknown) => reason);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError");
  return error.faults;
}

test.each(Object.entries(removedSettings))(
  "%s is refused with what to do instead, wherever it is written",
  async (key, message) => {
    expect(isSettingKey(key)).toBe(false);
    const path = join(folder, "slipway.yaml");
    await Bun.write(path, `${key}: true\n`);
    expect(await faultsOf({ file: { path, required: true } })).toEqual([{ key, source: path, message }]);
    const variable = environmentName(key);
    const env = { [variable]: "true" };
    expect(await faultsOf({ env })).toEqual([{ key: variable, source: "environment", message }]);
    const flags = { [key]: "true" };
    expect(await faultsOf({ flags })).toEqual([{ key, source: `--${flagName(key)}`, message }]);
  },
);
