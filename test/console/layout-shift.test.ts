import { expect, test } from "bun:test";
import { openConsole, wide } from "../support/console-page.ts";
import { consolePages } from "../support/console-pages.ts";
import { setUpScene } from "../support/console-setup.ts";

const { browser, scene } = await setUpScene();
const answerMs = 600;
const most = 0.02;

const console_ = await openConsole(browser, scene.server.url, wide);
await console_.page.route(/\/api\//, async (route) => {
  await new Promise((resolve) => setTimeout(resolve, answerMs));
  await route.continue();
});

for (const [name, pathOf, text] of consolePages)
  test(`${name}: what arrives late moves nothing that is already there`, async () => {
    const { page, go } = console_;
    await go(pathOf(scene));
    await page.getByText(text, { exact: false }).first().waitFor();
    await page.locator(".rows").first().waitFor({ state: "detached" });
    await page.waitForLoadState("networkidle");
    const shifts = await page.evaluate(async () => {
      interface Shift extends PerformanceEntry {
        value: number;
        hadRecentInput: boolean;
        sources: { node: Element | null; previousRect: DOMRect; currentRect: DOMRect }[];
      }
      const found: Shift[] = [];
      new PerformanceObserver((list) => found.push(...(list.getEntries() as Shift[]))).observe({
        type: "layout-shift",
        buffered: true,
      });
      for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
      return found.map(({ value, startTime, sources }) => ({
        value,
        from: `${Math.round(startTime)} ms: ${sources.map(({ node, previousRect, currentRect }) => `${node?.nodeName} ${node instanceof Element ? node.className : ""} ${Math.round(previousRect.top)}→${Math.round(currentRect.top)}`).join(", ")}`,
      }));
    });
    const sum = shifts.reduce((all, { value }) => all + value, 0);
    expect(sum > most ? shifts : []).toEqual([]);
  });
