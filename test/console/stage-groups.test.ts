import { expect, test } from "bun:test";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole();
const git = "https://git.example.com/shop.git";

test("stages are grouped, without what does not apply; a check of another kind begins with a suggestion", async () => {
  const id = await server.project(git, { build: "make" }, { name: "shop" });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${id}/settings/pipeline`);
  const groups = page.locator("legend");
  await groups.first().waitFor();
  expect(await groups.allTextContents()).toEqual(["Scripts"]);
  const healthCheck = { type: "tcp", host: "127.0.0.1", port: 3000, timeoutSeconds: 7 };
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
    stages: { start: { script: "node server.js &", healthCheck } },
  });
  await go(`/projects/${id}/settings/pipeline`);
  const check = page.getByLabel("Port, or host and port");
  await check.waitFor();
  expect(await check.inputValue()).toBe("127.0.0.1:3000");
  expect(await groups.allTextContents()).toEqual(["Scripts", "Release and rollback", "Approval"]);
  await page.getByRole("combobox", { name: "Check of web" }).click();
  await page.getByRole("option", { name: /HTTP/ }).click();
  expect(await page.getByLabel("Path or URL").inputValue()).toBe("/");
  expect(await page.getByLabel("Time limit of the health check").inputValue()).toBe("7 s");
  await page.getByRole("button", { name: "Discard" }).click();
  await check.waitFor();
  expect(faults).toEqual([]);
  await close();
});
