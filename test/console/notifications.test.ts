import { afterAll, expect, test } from "bun:test";
import { startChatServices } from "../support/chat-services.ts";
import { openConsole, saveForms, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const services = startChatServices();
const view = await openConsole(browser, server.url);
afterAll(() => {
  services.stop();
  expect(view.faults).toEqual([]);
});

interface Read {
  id: number;
  notify: { id: string; format: string; url: string; secretSet: boolean; logLines: number }[];
}

test("a chat target is added, tested, shown without its address, and kept when other fields are saved", async () => {
  const { page, go } = view;
  const id = await server.project("https://git.example.com/shop.git", { build: "true" }, { name: "chatty" });
  await go(`/projects/${id}/settings/notifications`);
  const panel = page
    .locator("section, .panel")
    .filter({ has: page.getByRole("heading", { name: "Notifications" }) });
  await panel.getByRole("button", { name: "Add an address" }).click();
  await panel.getByRole("radiogroup", { name: "Service" }).getByText("DingTalk").click();
  await panel.getByRole("textbox", { name: "Address" }).fill(services.addressOf("dingtalk"));
  await panel.getByRole("textbox", { name: "Signing secret" }).fill("SEC0123456789abcdef");
  await panel.getByLabel("Events", { exact: true }).first().click();
  await page.getByRole("option", { name: "Task failed" }).click();
  await page.keyboard.press("Escape");
  await saveForms(page);
  await panel.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The test message was delivered.").waitFor();
  await services.message("dingtalk", "test message");
  expect(services.problems).toEqual([]);
  await panel.getByRole("table", { name: "Last attempts" }).getByText("delivered").first().waitFor();

  await go(`/projects/${id}/settings/notifications`);
  const address = panel.getByRole("textbox", { name: "Address" });
  const change = panel.getByRole("button", { name: /^Change http/ });
  await change.waitFor();
  expect(await address.count()).toBe(0);
  await panel.locator(".target-line").getByText("Task failed").waitFor();
  // A key is for signed webhooks.
  expect(await page.getByLabel("Signing key").count()).toBe(0);
  await change.click();
  expect(await address.inputValue()).toBe(`${new URL(services.addressOf("dingtalk")).origin}/…cdef`);
  expect(await page.content()).not.toContain("0123456789abcdef");
  await panel.getByLabel("Log lines").fill("7");
  await saveForms(page);
  const { notify } = await server.admin.expect<Read>(200, "GET", `/api/projects/${id}`);
  expect(notify).toMatchObject([
    { format: "dingtalk", secretSet: true, logLines: 7, events: ["task.failed"] },
  ]);
  const path = `/api/projects/${id}/notify/${notify[0]?.id}/test`;
  expect(await server.admin.expect(200, "POST", path)).toMatchObject({ delivered: true });
});

test("in Chinese, Chinese services have the names that their users know", async () => {
  const notify = [{ format: "feishu", url: services.addressOf("feishu") }];
  const id = await server.project(
    "https://git.example.com/zh.git",
    { build: "true" },
    { name: "zh", notify },
  );
  const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale: "zh-CN" });
  await go(`/projects/${id}/settings/notifications`);
  await page.getByRole("button", { name: /^更改 http/ }).click();
  expect(await page.getByRole("radio", { name: "飞书" }).isChecked()).toBe(true);
  expect(await page.getByRole("radio", { name: "钉钉" }).count()).toBe(1);
  expect(await page.getByRole("radio", { name: "企业微信" }).count()).toBe(1);
  await close();
});

test("a refused test message and a shared context are shown", async () => {
  const { page, go } = view;
  const git = "https://git.example.com/mono.git";
  const url = services.addressOf("wecom").replace("693a91f6", "00000000");
  const notify = [{ format: "wecom", url }];
  const commitStatus = { context: "slipway" };
  const one = await server.project(git, { build: "true" }, { name: "mono one", notify, commitStatus });
  const two = await server.project(git, { build: "true" }, { name: "mono two", commitStatus });
  for (const id of [one, two])
    await server.admin.expect(204, "PUT", `/api/projects/${id}/keys/status-token`, { value: "t0ken" });
  await go(`/projects/${one}/settings/notifications`);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The test message was not delivered: errcode 40058").waitFor();
  await go(`/projects/${one}/settings/notifications`);
  await page.getByRole("note", { name: "Commit status" }).getByText("mono two").waitFor();
  await page.getByLabel("Context of commit statuses").fill("slipway/mono one");
  await saveForms(page);
  await page
    .getByRole("note", { name: "Commit status" })
    .getByText("mono two")
    .waitFor({ state: "detached" });
  services.problems.splice(0);
});

test("a bad address is named in words, at its field", async () => {
  const { page, go } = view;
  const id = await server.project("https://git.example.com/bad.git", { build: "true" }, { name: "bad" });
  await go(`/projects/${id}/settings/notifications`);
  await page.getByRole("button", { name: "Add an address" }).click();
  await page.getByRole("textbox", { name: "Address" }).fill("nowhere");
  await page.getByRole("region", { name: "Unsaved changes" }).getByRole("button", { name: "Save" }).click();
  await page.locator(".mantine-InputWrapper-error").getByText("must be").waitFor();
  expect(await page.locator("main").textContent()).not.toContain("notify.0");
  await page.getByRole("button", { name: "Discard" }).click();
});
