import { expect, test } from "bun:test";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole();
const git = "https://git.example.com/shop.git";

test("stages are grouped, without what does not apply; a check keeps its port, and another PORT warns", async () => {
  const id = await server.project(git, { build: "make" }, { name: "shop" });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${id}/settings/stages`);
  const groups = page.locator("legend");
  await groups.first().waitFor();
  expect(await groups.allTextContents()).toEqual(["Scripts"]);
  const healthCheck = { type: "tcp", host: "127.0.0.1", port: 3000, timeoutSeconds: 7 };
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
    stages: { start: { script: "node server.js &", healthCheck } },
    env: { PORT: "3000" },
  });
  await go(`/projects/${id}/settings/stages`);
  await page.getByLabel("Host and port").waitFor();
  expect(await groups.allTextContents()).toEqual([
    "Scripts",
    "Health check",
    "Release and rollback",
    "Approval",
  ]);
  await page.getByRole("combobox", { name: "Health check after start" }).click();
  await page.getByRole("option", { name: /HTTP/ }).click();
  await page.locator('input[value="http://127.0.0.1:3000/"]').waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.goto(`${server.url}/projects/${id}/settings/variables`);
  const value = page.getByLabel("Value of PORT");
  await value.waitFor();
  const warning = page.getByText("the health check asks port 3000", { exact: false });
  expect(await warning.count()).toBe(0);
  await value.fill("4000");
  await warning.waitFor();
  expect(faults).toEqual([]);
  await close();
});
