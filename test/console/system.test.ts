import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

// Without trusted proxies, which is a warning of the start.
const { browser, server } = await setUpConsole({
  "runner.enabled": false,
  "server.baseUrl": "https://slipway.example.com",
});

test("the system page writes a backup, and lists the packages inside with their licences", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  await go("/system");
  await page.getByRole("button", { name: "Back up now" }).click();
  const written = page.getByRole("status").filter({ hasText: "backups" });
  await written.waitFor();
  const [file = ""] = ((await written.textContent()) ?? "").split(": ");
  expect(file).toStartWith(join(server.dataDir, "backups"));
  expect(existsSync(file)).toBe(true);
  await page.getByRole("button", { name: "Show the packages" }).click();
  const packages = page.getByRole("table", { name: "Packages inside" });
  const react = packages.getByRole("row").filter({ has: page.getByText("react", { exact: true }) });
  await react.getByText("MIT").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

for (const [locale, text] of [
  ["en-US", "Name the proxy, for example server.trustedProxies"],
  ["zh-CN", "请写明代理，例如 server.trustedProxies"],
] as const)
  test(`warnings of the start are in the language of the page: ${locale}`, async () => {
    const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale });
    await go("/system");
    const warning = page.getByRole("note").getByText(text);
    await warning.waitFor();
    expect(await warning.evaluate((element) => element.closest("[lang]")?.getAttribute("lang"))).toBe(
      locale.replace("en-US", "en"),
    );
    await close();
  });
