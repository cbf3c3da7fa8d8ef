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

/** Buttons of another height than the two. */
function strangeButtons(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll(".mantine-Button-root")]
      .filter((button) => button.checkVisibility())
      .filter((button) => ![26, 36].includes(Math.round(button.getBoundingClientRect().height)))
      .map((button) => `${button.getBoundingClientRect().height}: ${button.textContent}`),
  );
}

/** Where somebody is needed: "Needs you", approvals, what is unhealthy, waits for a runner. The mark of the product is amber too. */
const needed =
  '.needs, .count, .approval, .waiting, [data-tone="needed"], [data-state="waiting"], [data-state="unhealthy"], .mark, .log';

/** What is amber outside of the places that are allowed. */
function amberOutside(page: Page, allowed: string): Promise<string[]> {
  return page.evaluate((allowed) => {
    const isOnRunners = location.pathname === "/runners";
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const isAmber = (color: string) => {
      if (!context) throw new Error("no canvas");
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      const [r = 0, g = 0, b = 0, a = 0] = context.getImageData(0, 0, 1, 1).data;
      const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
      const hue = (60 * (g - b)) / (most - least);
      return a > 8 && most === r && (most - least) / most > 0.25 && hue > 24 && hue < 55;
    };
    const hasText = (element: Element) =>
      [...element.childNodes].some(({ nodeType, nodeValue }) => nodeType === 3 && nodeValue?.trim());
    const colorsOf = (element: Element) =>
      [null, "::before", "::after"].flatMap((part) => {
        const style = getComputedStyle(element, part);
        if (part !== null && style.content === "none") return [];
        const borders = (["Top", "Right", "Bottom", "Left"] as const)
          .filter((side) => Number.parseFloat(style[`border${side}Width`]) > 0)
          .map((side) => style[`border${side}Color`]);
        const drawn = element instanceof SVGElement ? [style.fill, style.stroke] : [];
        return [style.backgroundColor, ...borders, ...drawn, ...(hasText(element) ? [style.color] : [])];
      });
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.checkVisibility() && element.closest(allowed) === null)
      .filter((element) => !(isOnRunners && element.closest('.state[data-tone="warning"]')))
      .filter((element) => colorsOf(element).some((color) => color !== "none" && isAmber(color)))
      .map((element) => element.outerHTML.slice(0, 140));
  }, allowed);
}

/** Rows of a list that are lower than the others, or have more than one strong text. */
function unevenRows(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const rows = ".list-table tbody tr, .project-rows tbody tr, .needs li, .environment";
    const strongIn = (row: Element) =>
      [...row.querySelectorAll("*")].filter(
        (element) =>
          element.checkVisibility() &&
          [...element.childNodes].some(({ nodeType, nodeValue }) => nodeType === 3 && nodeValue?.trim()) &&
          Number(getComputedStyle(element).fontWeight) > 550 &&
          element.closest(".mantine-Button-root, [role=combobox]") === null,
      );
    return [...document.querySelectorAll(rows)]
      .filter((row) => row.checkVisibility())
      .flatMap((row) => {
        const { height } = row.getBoundingClientRect();
        const texts = strongIn(row).map(({ textContent }) => textContent);
        return height >= 44 && texts.length <= 1 ? [] : [`${height} ${texts} ${row.outerHTML.slice(0, 120)}`];
      });
  });
}

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

/** How much of the page moved since it was opened, 0 to 1, and what. */
async function shiftsOf(page: Page): Promise<{ value: number; from: string }[]> {
  return page.evaluate(async () => {
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
}

const answerMs = 600;
const mostShift = 0.02;
const network = await console_.page.context().newCDPSession(console_.page);

/** Unlike a route, a slow network leaves the cache of the browser as it is. */
async function answersAfter(latency: number): Promise<void> {
  const emulated = { offline: false, latency, downloadThroughput: -1, uploadThroughput: -1 };
  await network.send("Network.emulateNetworkConditions", emulated);
}

for (const [name, pathOf, text] of consolePages) {
  test(`${name}: what arrives late moves nothing, no accessibility violation, one look, fits all widths, and 200 % zoom loses no control`, async () => {
    const { page, faults, go } = console_;
    await page.setViewportSize(wide.viewport);
    await answersAfter(answerMs);
    await go(pathOf(scene));
    await page.getByText(text, { exact: false }).first().waitFor();
    await page.locator(".rows").first().waitFor({ state: "detached" });
    await page.waitForLoadState("networkidle");
    const shifts = await shiftsOf(page);
    expect(shifts.reduce((sum, { value }) => sum + value, 0) > mostShift ? shifts : []).toEqual([]);
    await answersAfter(0);

    await inScheme(page, "light");
    expect(await violations(page)).toEqual([]);
    expect(await unreachable(page)).toEqual([]);
    expect(await amberOutside(page, needed)).toEqual([]);
    // The markup of the dark scheme is the same; only colours differ.
    await inScheme(page, "dark");
    expect(await violations(page, pick(["color-contrast"], []))).toEqual([]);
    expect(await amberOutside(page, needed)).toEqual([]);
    expect(await strangeButtons(page)).toEqual([]);
    expect(await unevenRows(page)).toEqual([]);

    for (const width of [390, 820, 1024]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await crowded(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const all = await controls(page);
    await page.setViewportSize({ width: 720, height: 450 });
    await page.getByText(text, { exact: false }).filter({ visible: true }).first().waitFor();
    expect(await crowded(page)).toEqual([]);
    const kept = new Set(await controls(page));
    expect(all.filter((control) => !kept.has(control))).toEqual([]);
    expect(faults).toEqual([]);
  });
}

test("what needs somebody on Home is amber", async () => {
  const { page, go } = console_;
  await page.setViewportSize(wide.viewport);
  await go("/");
  await page.getByRole("region", { name: "Needs you" }).waitFor();
  for (const scheme of ["light", "dark"] as const) {
    await inScheme(page, scheme);
    expect((await amberOutside(page, ".mark")).length).toBeGreaterThan(1);
  }
});

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
