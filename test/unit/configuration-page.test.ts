import { expect, test } from "bun:test";
import { configurationPage } from "../../src/config/configuration-page.ts";

test("docs/configuration.md is what `slipway config docs` prints", async () => {
  const kept = await Bun.file(new URL("../../docs/configuration.md", import.meta.url)).text();
  expect(kept, "run: bin/slipway config docs > docs/configuration.md").toBe(configurationPage());
});
