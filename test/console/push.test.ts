import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { becomesLive, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { PushClient } from "../support/push-client.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const { page, faults, go } = await openConsole(browser, server.url, wide);

test("the first start leads those who only want push to examples with this server's address", async () => {
  await go("/");
  await page.getByRole("heading", { name: "I only want push" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "Open the push pages" }).click();
  await page.waitForURL("**/push/playground");
  const socketUrl = `${server.url.replace(/^http/, "ws")}/ws`;
  for (const [language, address] of [
    ["TypeScript", socketUrl],
    ["Java", socketUrl],
    ["curl", `${server.url}/sse?code=`],
  ] as const) {
    await page.getByRole("tab", { name: language }).click();
    for (const what of ["making a code", "connecting", "publishing"])
      await page.getByRole("button", { name: `Copy the ${language} example of ${what}` }).waitFor();
    await page.locator("pre").filter({ hasText: address }).waitFor();
    await page
      .locator("pre")
      .filter({ hasText: `${server.url}/feign/publish` })
      .waitFor();
  }
  // The code of the first example is one that opens a connection.
  const making = await page.locator("pre").filter({ hasText: "/api/push/codes" }).textContent();
  const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "backend",
    scopes: ["admin"],
  });
  const { code } = await Bun.$`bash -c ${making?.replace("TOKEN", token)}`.json();
  const connection = await PushClient.open(`${socketUrl}?code=${code}`);
  expect(await server.admin.expect<object>(200, "GET", "/api/push/online")).toMatchObject({ users: ["42"] });
  connection.close();
  expect(await violations(page)).toEqual([]);
});

test("an earlier address leads to the tab of now, with what was asked for", async () => {
  await go("/push/trace?user=42");
  await page.waitForURL(`${server.url}/push/find?user=42`);
  expect(await page.getByRole("tab").allTextContents()).toEqual([
    "Monitor",
    "Find a user",
    "Channels",
    "Playground",
  ]);
  await go("/push/unknown");
  await page.getByRole("heading", { name: "Not found" }).waitFor();
});

test("the console's own connection and channels are separate, and channels are filtered", async () => {
  const projectId = await server.project("https://git.example.com/shop.git", {}, { name: "shop" });
  // Another console follows the project.
  const other = await openConsole(browser, server.url, wide);
  await other.go(`/projects/${projectId}`);
  await becomesLive(other.page);
  await go("/push/playground");
  await page.getByLabel("Channel", { exact: true }).fill("news");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const stream = page.getByLabel("Received messages");
  await stream.getByText("connected as").waitFor();
  expect(await stream.locator("time").first().textContent()).toMatch(/\d+:\d\d:\d\d/);
  // It stays open while another tab is shown, and does not count the console.
  await page.getByRole("tab", { name: "Channels" }).click();
  await page.getByRole("heading", { name: "Channels" }).waitFor();
  await page.getByRole("tab", { name: "Playground" }).click();
  await page.getByRole("button", { name: "Publish the message" }).click();
  await page.getByText("1 connection received it.").waitFor();
  await stream.getByText("Hello from the console").waitFor();
  // What a submit of an empty message is refused for does not stand beside the earlier success.
  await page.getByRole("textbox", { name: "Message", exact: true }).fill("");
  await page.getByText("1 connection received it.").waitFor({ state: "detached" });
  await stream.getByText("connected as").waitFor();

  await other.go("/push");
  const figure = (label: string) => other.page.locator(".figure").filter({ hasText: label }).locator("b");
  await figure("normal").getByText("1", { exact: true }).waitFor();
  await figure("temporary").getByText("0", { exact: true }).waitFor();
  await figure("channels").getByText("1", { exact: true }).waitFor();
  await other.page.getByText(/Not counted: \d+ connections? and \d+ channels? of this console/).waitFor();
  await other.page.getByText("What the words mean").waitFor();

  // The history is kept by the server: it is there again after a reload.
  await other.page.reload();
  const history = other.page.locator(".panel", { has: other.page.getByRole("heading", { name: "History" }) });
  await history.getByText(/^\d+ now, at most \d+$/).waitFor();
  expect(await history.locator("polyline").count()).toBe(2);

  const watching = await openConsole(browser, server.url, wide);
  await watching.go(`/projects/${projectId}`);
  await becomesLive(watching.page);
  await other.go("/push/channels");
  const list = other.page.getByRole("list", { name: "Channels" });
  await list.getByText("news").waitFor();
  expect(await list.getByText("private-project-").count()).toBe(0);
  expect(await list.evaluate((element) => element instanceof HTMLElement && element.tabIndex)).toBe(0);
  await other.page.getByRole("checkbox", { name: /^Show \d+ channels? of the console$/ }).click();
  await list.getByText(`private-project-${projectId}`, { exact: true }).waitFor();
  await other.page.getByRole("searchbox", { name: "Filter by name" }).fill("NEW");
  await list.getByText("private-project-").waitFor({ state: "detached" });
  await list.getByText("news").waitFor();
  await other.page.getByRole("searchbox", { name: "Filter by name" }).fill("nothing");
  await other.page.getByText("No channel has this in its name.").waitFor();
  expect([...faults, ...other.faults]).toEqual([]);
  await watching.close();
  await other.close();
});
