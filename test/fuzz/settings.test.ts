import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { settingKeys } from "../../src/config/config.ts";
import { ConfigError, configOf, loadConfig, printConfig } from "../../src/config/config-load.ts";
import { fuzz, mutatedText } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";
import { nastyText } from "../support/schema-values.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

longTest(600_000);

const folder = temporaryFolder("fuzz");

/** A settings file with known keys and arbitrary values. */
const structured = fc
  .dictionary(fc.oneof(fc.constantFrom(...settingKeys), nastyText), fc.oneof(fc.jsonValue(), nastyText), {
    maxKeys: 12,
  })
  .map((tree) => JSON.stringify(tree));

test("a settings file is accepted, or refused with a sentence for each mistake", async () => {
  const path = join(folder, "slipway.yaml");
  await fuzz({
    name: "settings files",
    inputs: { short: 2_000, long: 100_000 },
    arbitrary: fc.oneof(structured, mutatedText([printConfig(configOf())])),
    async check(text) {
      writeFileSync(path, text);
      const faults = await faultsOf(path);
      for (const { key, message } of faults) {
        expect(typeof key).toBe("string");
        expect(message).not.toMatch(/undefined|\[object Object\]/);
      }
      // Each setting, each line and each rule between settings may be wrong once.
      return { used: faults.length, bound: settingKeys.length + text.length + 10 };
    },
  });
}, 600_000);

async function faultsOf(path: string) {
  try {
    await loadConfig({ file: { path, required: true }, env: {}, flags: {} });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}
