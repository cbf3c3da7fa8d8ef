import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { violations } from "../support/axe.ts";
import { becomesLive, inScheme, openConsole, wide } from "../support/console-page.ts";
import { consolePages } from "../support/console-pages.ts";
import { hostile } from "../support/console-scene.ts";
import { setUpScene } from "../support/console-setup.ts";
import { pick } from "../support/length.ts";

const { browser, scene } = await setUpScene();
const console_ = await openConsole(browser, scene.server.url);

/** Clickable elements that cannot be reached by the keyboard. */
function unreachable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    // Tabs move with the arrow keys, numbers with up and down, pills and choices are removed with Backspace or Escape.
    const others =
      '[role="tab"], [aria-hidden="true"], .mantine-NumberInput-control, .mantine-Pill-remove, .mantine-InputClearButton-root';
    const controls = [...document.querySelectorAll("button, a[href], input, textarea, [role=button]")];
    const missed = controls.filter(
      (element): element is HTMLElement =>
        element instanceof HTMLElement &&
        element.checkVisibility() &&
        element.tabIndex < 0 &&
        !element.matches(others),
    );
    const rows = [...document.querySelectorAll("tr.row-link")].filter(
      (row) => row.querySelector("a[href]") === null,
    );
    return [...missed, ...rows].map((element) => element.outerHTML.slice(0, 160));
  });
}

/** Overflow: a page or panel that scrolls sideways, a cell that overlaps the next, a button with cut text. */
function crowded(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    // Elements that observe their own size, such as the plot, are drawn again in the next frame.
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
    const boxes = document.querySelectorAll("html, .panel-body, td, .mantine-Button-label");
    return [...boxes]
      .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
      .map((box) => `${innerWidth}: ${box.outerHTML.slice(0, 160)}`);
  });
}

for (const [name, pathOf, text] of consolePages) {
  test(`${name}: shows its content, has no accessibility violation in light or dark, and fits phone, tablet and laptop`, async () => {
    const { page, faults, go } = console_;
    await page.setViewportSize(wide.viewport);
    await go(pathOf(scene));
    await page.getByText(text, { exact: false }).first().waitFor();
    await page.locator(".rows").first().waitFor({ state: "detached" });
    await inScheme(page, "light");
    expect(await violations(page)).toEqual([]);
    expect(await unreachable(page)).toEqual([]);
    // The markup of the dark scheme is the same; only colours differ.
    await inScheme(page, "dark");
    expect(await violations(page, pick(["color-contrast"], []))).toEqual([]);
    for (const width of [390, 720, 820, 1024]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await crowded(page)).toEqual([]);
    }
    expect(faults).toEqual([]);
  });
}

test("at 200 % zoom no control is lost", async () => {
  const options = { viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 };
  const zoomed = await openConsole(browser, scene.server.url, options);
  const { page } = console_;
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const [name, pathOf, text] of consolePages) {
    for (const each of [console_, zoomed]) {
      await each.go(pathOf(scene));
      await each.page.getByText(text, { exact: false }).filter({ visible: true }).first().waitFor();
      await each.page.locator(".rows").first().waitFor({ state: "detached" });
    }
    const kept = new Set(await controls(zoomed.page));
    const lost = (await controls(page)).filter((control) => !kept.has(control));
    expect([name, lost, await crowded(zoomed.page)]).toEqual([name, [], []]);
  }
  expect(zoomed.faults).toEqual([]);
  await zoomed.close();
}, 300_000);

/** The buttons, links and fields of the page's content that can be used. */
function controls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const all = document.querySelectorAll("main :is(button, a[href], input, textarea, option, [role=tab])");
    return (
      [...all]
        .filter((control) => (control.closest("select") ?? control).checkVisibility())
        .map(
          (control) =>
            control.getAttribute("aria-label") ?? control.getAttribute("name") ?? control.textContent,
        )
        // Ages go on between the two looks, and names that are made up differ.
        .map((name) => name.trim())
        .filter((name) => name !== "" && !/\d|^mantine-/.test(name))
    );
  });
}

test("hostile branch names, messages, project names and log lines are text, never markup", async () => {
  const { page, go } = console_;
  for (const path of [
    "/",
    "/activity?show=all",
    "/deliveries/5",
    `/tasks/${scene.runningTaskId}`,
    "/audit",
  ]) {
    await go(path);
    await page.getByText("onerror=", { exact: false }).first().waitFor();
    expect(await page.locator("main img, main b:text-is('bold')").count()).toBe(0);
    expect(await page.title()).not.toContain("owned");
  }
  expect(hostile).toContain("<img");
});

test("an error of the server appears at its field, once", async () => {
  const { page, go } = console_;
  await page.setViewportSize(wide.viewport);
  await go("/");
  await inScheme(page, "light");
  await page.getByRole("link", { name: "Add a project" }).click();
  const form = page.locator("main form");
  await form.getByLabel("Clone URL").fill("nowhere");
  await form.getByLabel("Clone URL").press("Enter");
  const said = page.getByText("must be an https or ssh address", { exact: false });
  await said.waitFor();
  expect(await said.count()).toBe(1);
  expect(await violations(page, ["color-contrast"])).toEqual([]);
  await inScheme(page, "dark");
  expect(await violations(page, ["color-contrast"])).toEqual([]);
});

test("on a phone the navigation opens from its button", async () => {
  const phone = await openConsole(browser, scene.server.url, { viewport: { width: 390, height: 844 } });
  await phone.go("/users");
  await phone.page.getByRole("button", { name: "Open the navigation" }).click();
  await phone.page.getByRole("dialog").getByRole("link", { name: "Activity" }).click();
  await phone.page.waitForURL("**/activity");
  await phone.close();
});

test("the page shows whether it is live, and polls if WebSockets are blocked", async () => {
  const blocked = await openConsole(browser, scene.server.url);
  await blocked.page.addInitScript(() => {
    const refuse = class extends EventTarget {
      onclose: ((event: unknown) => void) | null = null;
      constructor() {
        super();
        setTimeout(() => this.onclose?.({ code: 1006, reason: "" }));
      }
      close() {}
      send() {}
    };
    Object.assign(globalThis, { WebSocket: refuse });
  });
  await blocked.go(`/projects/${scene.shopId}/activity?show=all`);
  await blocked.page.locator('.side .live-state[data-state="waiting"]').waitFor();
  await scene.push({ branch: "elsewhere", message: "Seen without a live connection" });
  await blocked.page.getByText("Seen without a live connection").waitFor();
  await blocked.close();
  await console_.go("/");
  await becomesLive(console_.page);
});
