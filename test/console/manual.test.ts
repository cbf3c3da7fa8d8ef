import { expect, test } from "bun:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { writeManual } from "../../scripts/manual-files.ts";
import { violations } from "../support/axe.ts";
import { closeContext, collectFaults } from "../support/browser.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const phone = { viewport: { width: 390, height: 844 } };

async function onPage(path: string, options: BrowserContextOptions, use: (page: Page) => Promise<void>) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const faults = collectFaults(page);
  await page.goto(`${server.url}/manual/${path}`);
  await use(page);
  expect(faults).toEqual([]);
  await closeContext(context);
}

test("the account menu of the console leads to the manual, in both languages", async () => {
  for (const [locale, name] of [
    ["en-US", "Manual"],
    ["zh-CN", "使用手册"],
  ] as const) {
    const console = await openConsole(browser, server.url, { ...wide, locale });
    await console.go("/");
    await console.page.locator(".side .me").click();
    const opening = console.page.waitForEvent("popup");
    await console.page.getByRole("menuitem", { name, exact: true }).click();
    const manual = await opening;
    await manual.getByRole("heading", { level: 1, name: "Slipway" }).waitFor();
    expect(new URL(manual.url()).pathname).toBe("/manual/");
    await console.close();
  }
});

test("the search finds a word of a page, and the keyboard opens the result", async () => {
  await onPage("hosts/github.html", wide, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("one-off cod");
    const first = page.locator(".results a").first();
    await first.filter({ hasText: "One-off codes" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/manual/push.html#one-off-codes`);
    await page.getByRole("heading", { name: "One-off codes" }).waitFor();
  });
});

test("the search knows Chinese, forgives a slip, says when it finds nothing, and closes", async () => {
  await onPage("", wide, async (page) => {
    const search = page.getByRole("searchbox", { name: "Search the manual" });
    await search.fill("推送网关");
    await page.locator('.results a[href*="readme.zh-cn.html"]').first().waitFor();
    await search.fill("debuonce");
    await page.locator(".results a").filter({ hasText: "ebounce" }).first().waitFor();
    await search.fill("xyzzyplugh");
    await page.getByText("Nothing found for “xyzzyplugh”.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".results").waitFor({ state: "hidden" });
  });
});

test("a page is readable on a phone, and its menu leads to the other pages", async () => {
  await onPage("performance.html", phone, async (page) => {
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    const menu = page.getByRole("button", { name: "Pages" });
    expect(await menu.getAttribute("aria-expanded")).toBe("false");
    await menu.click();
    expect(await menu.getAttribute("aria-expanded")).toBe("true");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Operations" }).click();
    await page.getByRole("heading", { level: 1, name: "Operations" }).waitFor();
  });
});

test("pages have no accessibility violations, in both schemes and on a phone", async () => {
  for (const [path, options] of [
    ["", { ...wide, colorScheme: "light" }],
    ["push.html", { ...wide, colorScheme: "dark" }],
    ["performance.html", { ...phone, colorScheme: "light" }],
    ["readme.zh-cn.html", { ...phone, colorScheme: "dark" }],
  ] as const)
    await onPage(path, options, async (page) => {
      expect([path, await violations(page)]).toEqual([path, []]);
    });
});

test("the scheme that was chosen in the console holds", async () => {
  await onPage("", { ...wide, colorScheme: "light" }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await ground()).toBe("rgb(247, 248, 246)");
    await page.evaluate(() => localStorage.setItem("mantine-color-scheme-value", "dark"));
    await page.reload();
    expect(await ground()).toBe("rgb(15, 23, 25)");
  });
});

test("published as files beside another version, the manual offers that version", async () => {
  const site = temporaryFolder("manual-site");
  const folder = await writeManual(site);
  const version = folder.slice(site.length + 1);
  await Bun.write(`${site}/versions.json`, JSON.stringify([version, "0.9.0"]));
  await Bun.write(
    `${site}/0.9.0/index.html`,
    "<!doctype html><title>old</title><h1>The manual of 0.9.0</h1>",
  );
  const files = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch({ url }) {
      const file = Bun.file(site + new URL(url).pathname.replace(/\/$/, "/index.html"));
      return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 });
    },
  });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${files.port}/${version}/hosts/github.html`);
  await page.getByLabel("Version").selectOption("0.9.0");
  await page.getByRole("heading", { name: "The manual of 0.9.0" }).waitFor();
  await page.close();
  await files.stop(true);
});
