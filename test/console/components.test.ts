import { afterAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { showComponents } from "../../scripts/components.ts";
import { loadBundle } from "../../src/http/asset-bundle.ts";
import { consoleBundle } from "../../src/http/console-bundle.ts";
import { violations } from "../support/axe.ts";
import { closeBrowser, collectFaults, startBrowser } from "../support/browser.ts";
import { pick } from "../support/length.ts";

const browser = await startBrowser();
const server = showComponents(0);
afterAll(async () => {
  await closeBrowser(browser);
  await server.stop(true);
});

async function opened(scheme: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  const faults = collectFaults(page);
  await page.goto(`${server.url}${scheme}`);
  await page.getByRole("region", { name: "Courses of events" }).waitFor();
  return { page, faults };
}

for (const [scheme, only] of [
  ["light", []],
  // The markup is the same; only colours differ.
  ["dark", pick(["color-contrast"], [])],
] satisfies [string, string[]][])
  test(`every component is shown without an accessibility violation in the ${scheme} scheme, dialogs included`, async () => {
    const { page, faults } = await opened(scheme);
    await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
    expect(await page.getByRole("heading", { level: 2 }).count()).toBeGreaterThan(15);
    expect(await violations(page, only)).toEqual([]);
    for (const [button, submit] of [
      ["Roll back", "Roll back"],
      ["Delete the project", "Delete the project"],
      ["Add a group", "Add it"],
    ] as const) {
      await page.getByRole("button", { name: button, exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: submit, exact: true }).waitFor();
      expect(await violations(page, only, "[role=dialog]")).toEqual([]);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
    expect(faults).toEqual([]);
  });

test("no part of the page of components is in the bundle of the console", async () => {
  const assets = await loadBundle(consoleBundle, `${import.meta.dir}/../..`);
  const contents = assets.map(({ bodies }) =>
    ("gzip" in bodies ? gunzipSync(bodies.gzip) : Buffer.from(bodies.identity)).toString(),
  );
  expect(contents.join("\n")).toContain("slipway");
  for (const content of contents) expect(content).not.toMatch(/Components of the console|\.review-line/);
});
