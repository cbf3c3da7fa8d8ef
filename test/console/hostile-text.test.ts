import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openConsole } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";

/** Reverses the text after it, on a page and in the title of a browser tab. */
const reversal = "\u202e\u2066\u200ffdp.exe";

/** Fields of responses with text of other users. */
const foreignFields = new Set([
  ...["name", "message", "ref", "triggeredBy", "author", "reason", "causeRef", "url", "username", "subject"],
  ...["project_name", "commit_message", "event", "host_delivery_id", "remote_ip", "remoteIp", "userAgent"],
  ...["projectName", "value", "pattern", "detail", "text", "body", "hint", "address", "title", "waiting"],
]);

/** Lists of such text. */
const foreignLists = new Set(["labels", "users", "notIsolated"]);

const { browser, scene } = await setUpScene();
const view = await openConsole(browser, scene.server.url);
const { id } = await scene.server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
  name: "open",
  git: { url: "https://git.example.com/open.git" },
});
await scene.server.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: true });
await view.page.route("**/api/**", async (route) => {
  const response = await route.fetch();
  const isJson = response.headers()["content-type"]?.includes("json") ?? false;
  if (!isJson) return route.fulfill({ response });
  await route.fulfill({ response, json: poisoned(await response.json()) });
});

/** The response, with hostile text in every field that strangers can write. */
function poisoned(value: unknown, field = ""): unknown {
  if (typeof value === "string") return foreignFields.has(field) ? value + reversal : value;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, foreignLists.has(field) ? "name" : ""));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      isStageName(value, name) ? each : poisoned(each, field === "headers" ? "value" : name),
    ]),
  );
}

/** `build`, `deploy` and `start` are names of Slipway. */
function isStageName(owner: object, field: string): boolean {
  return field === "name" && "state" in owner && "exitCode" in owner;
}

/** Visible text with a character that reorders text. Form fields show their raw value. */
function reorderedTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const reorders = /[\p{Bidi_Control}\u2028\u2029]/u;
    const found = reorders.test(document.title) ? [`title: ${document.title}`] : [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, textContent } = walker.currentNode;
      if (parentElement?.matches("script, style, textarea")) continue;
      if (reorders.test(textContent ?? "")) found.push(`<${parentElement?.className}> ${textContent}`);
    }
    for (const element of document.querySelectorAll("*"))
      for (const name of ["title", "aria-label", "alt", "placeholder"])
        if (reorders.test(element.getAttribute(name) ?? ""))
          found.push(`${name} of <${element.className}> ${element.getAttribute(name)}`);
    return found;
  });
}

const paths = (): string[] => [
  "/",
  "/projects",
  ...["activity?show=all", "webhook", "settings"].map((tab) => `/projects/${scene.shopId}/${tab}`),
  "/activity?show=all",
  `/tasks/${scene.failedTaskId}`,
  "/deliveries/1",
  ...["/push", "/users", "/groups", "/runners", "/tokens", "/audit", "/account"],
];

test("on no page, text of a stranger changes the direction of other text", async () => {
  const { page, go, faults } = view;
  const reordered: Record<string, string[]> = {};
  for (const path of paths()) {
    await go(path);
    await page.waitForLoadState("networkidle").catch(() => null);
    await page.getByText("\\u202e", { exact: false }).first().waitFor();
    const found = await reorderedTexts(page);
    if (found.length > 0) reordered[path] = found;
  }
  expect(reordered).toEqual({});
  expect(faults).toEqual([]);
}, 180_000);

test("a log line with reversing characters shows them escaped and keeps its colours", async () => {
  const { page, go } = view;
  await go(`/tasks/${scene.failedTaskId}`);
  await page.locator(".log-text", { hasText: "FAIL" }).first().waitFor();
  expect(await page.locator('.log-text [style*="--ansi-1)"]', { hasText: "FAIL" }).count()).toBe(1);
  await page.locator(".log-text", { hasText: "\\u202e\\u2066\\u200ffdp.exe" }).first().waitFor();
});

test("dialogs and notices escape the names that they contain", async () => {
  const { page, go } = view;
  await go("/users");
  await page.getByRole("button", { name: "Delete bo" }).first().click();
  await page.getByRole("dialog").getByText("Delete bo\\u202e", { exact: false }).waitFor();
  expect(await reorderedTexts(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Delete the user" }).click();
  await page.getByText("was deleted.").waitFor();
  expect(await reorderedTexts(page)).toEqual([]);
});
