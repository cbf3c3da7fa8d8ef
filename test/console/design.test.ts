import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { inScheme, openConsole, wide } from "../support/console-page.ts";
import { consolePages } from "../support/console-pages.ts";
import { setUpScene } from "../support/console-setup.ts";

const { browser, scene } = await setUpScene();
const console_ = await openConsole(browser, scene.server.url, wide);

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

for (const [name, pathOf, text] of consolePages)
  test(`${name}: two sizes of buttons, one height of rows, amber only where somebody is needed`, async () => {
    const { page, go } = console_;
    await go(pathOf(scene));
    await page.getByText(text, { exact: false }).first().waitFor();
    await page.locator(".rows").first().waitFor({ state: "detached" });
    for (const scheme of ["light", "dark"] as const) {
      await inScheme(page, scheme);
      expect(await amberOutside(page, needed)).toEqual([]);
    }
    expect(await strangeButtons(page)).toEqual([]);
    expect(await unevenRows(page)).toEqual([]);
  });

test("what needs somebody on Home is amber", async () => {
  const { page, go } = console_;
  await go("/");
  await page.getByRole("region", { name: "Needs you" }).waitFor();
  for (const scheme of ["light", "dark"] as const) {
    await inScheme(page, scheme);
    expect((await amberOutside(page, ".mark")).length).toBeGreaterThan(1);
  }
});
