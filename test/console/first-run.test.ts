import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { collectFaults } from "../support/browser.ts";
import { focusedDialogField, isPainted, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole();

test("with the keyboard alone a new user signs in, tries the sample, watches its deploy live, and deletes it completely", async () => {
  const context = await browser.newContext(wide);
  const page = await context.newPage();
  const faults = collectFaults(page);
  const { keyboard } = page;
  await page.goto(server.url);

  // The username field has the focus; Tab moves through the form.
  await page.getByLabel("Username").waitFor();
  await isPainted(page);
  await keyboard.type("admin");
  await keyboard.press("Tab");
  await keyboard.type("a wrong password");
  await keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Password").first().focus();
  await keyboard.press("ControlOrMeta+A");
  await keyboard.type(adminPassword);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Welcome" }).waitFor();

  // The first Tab offers to skip the navigation.
  await keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
  await keyboard.press("Enter");
  await keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Try the sample");
  await keyboard.press("Enter");

  await page.waitForURL("**/tasks/*");
  await page.locator('.task-facts .state[data-state="success"]').waitFor({ timeout: 60_000 });
  await page.locator(".log-line").nth(3).waitFor();
  await page.getByRole("heading").getByRole("link").press("Enter");
  await page.getByRole("tab", { name: "Overview" }).focus();
  for (let step = 0; step < 3; step++) await keyboard.press("ArrowRight");
  await page.waitForURL("**/settings");
  await page.getByRole("button", { name: "Delete the project" }).press("Enter");
  await focusedDialogField(page);
  const heading = page.getByRole("heading", { level: 1 });
  await keyboard.type((await heading.getByRole("link").textContent()) ?? "");
  await keyboard.press("Enter");
  await page.waitForURL(`${server.url}/`);
  await page.getByRole("button", { name: "Try the sample" }).waitFor();

  expect(readdirSync(join(server.dataDir, "samples"))).toEqual([]);
  const { total } = await server.admin.expect<{ total: number }>(200, "GET", "/api/webhooks/deliveries");
  expect(total).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test("sign-out clears the page, and a session that ended elsewhere returns to the sign-in", async () => {
  const context = await browser.newContext(wide);
  const page = await context.newPage();
  const signIn = async () => {
    await page.getByLabel("Username").fill("admin");
    await page.getByLabel("Password").first().fill(adminPassword);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("main#main").waitFor();
  };
  await page.goto(`${server.url}/users`);
  await signIn();
  await page.getByText("Username").waitFor();
  await page.locator(".side .me").click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await signIn();
  await server.admin.expect(204, "DELETE", "/api/users/1/sessions");
  await page.goto(`${server.url}/audit`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await context.close();
});
