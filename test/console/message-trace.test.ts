import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { PushClient } from "../support/push-client.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });

const publish = (target: string, data: string) =>
  server.admin.expect<{ id: string }>(200, "POST", "/api/push/publish", {
    targetType: "user",
    target,
    data,
    ack: true,
  });

const codeFor = async (userId: string) =>
  (await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId })).code;
const connect = async (userId: string, query = "") => {
  const address = `${server.url.replace("http", "ws")}/ws?code=${await codeFor(userId)}${query}`;
  const client = await PushClient.open(address, ["slipway.v1"]);
  await client.receivedType("welcome");
  return client;
};

test("a message that nobody received leads to the user, who is offline, and the page says why", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url, wide);
  await go("/push/playground");
  await page.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: "one user", exact: true }).click();
  await page.getByLabel("User ID").fill("absent");
  await page.getByRole("textbox", { name: "Message", exact: true }).fill("hello <b>absent</b>");
  await page.getByRole("button", { name: "Publish the message" }).click();
  await page.getByText("0 connections received it.").waitFor();
  // It was never connected, and the gateway says how far back it remembers.
  await page.getByText(/^absent is offline\. Since when is not known/).waitFor();
  await page.getByRole("link", { name: "What became of the messages to absent" }).click();
  await page.waitForURL("**/push/find?user=absent");
  expect(await page.getByLabel("User ID").inputValue()).toBe("absent");
  await page.getByRole("heading", { name: "“hello <b>absent</b>” → user absent" }).waitFor();
  const way = page.getByRole("article").first();
  await way.getByText("absent had no connection on any instance.").waitFor();
  // Nothing happened on the way, and there is one instance.
  const accepted = way.getByText("Accepted, to the user absent.", { exact: true });
  expect(await accepted.isVisible()).toBe(false);
  // Counts and the content are folded away.
  const counts = way.getByText(": 0 written, 0 waiting, 0 acknowledged, 0 closed");
  expect(await counts.isVisible()).toBe(false);
  await way.getByText("Details").click();
  await counts.waitFor();
  await accepted.waitFor();
  await way.getByText("Slipway distributed it to its connections.").waitFor();
  await way.getByText("hello <b>absent</b>", { exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);

  const gone = await connect("gone");
  gone.socket.close();
  await gone.ended();
  await publish("gone", "hello");
  await go("/push/find?user=gone");
  await page.getByText(/^gone went offline .+: closed without a code \(the page was left\)\.$/).waitFor();
  await page.getByText(/the last one was closed with no code \(the page was left\) at/).waitFor();
  await page.getByRole("article").getByText("Details").click();
  await page
    .getByText(/^The user's last connection to Slipway had ended before: closed without a code/)
    .waitFor();

  await go("/push/find?user=Absent");
  await page.getByText("No message to the user “Absent” or to the user's channels is known.").waitFor();
  await page
    .getByText("There are messages to similar user IDs:")
    .getByRole("link", { name: "absent" })
    .click();
  await page.waitForURL("**/push/find?user=absent");
  await page.getByText("absent had no connection on any instance.").waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the page shows a user's connections, and the way of messages to the user, the channels and all", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url, wide);
  const client = await connect("present", "&channel=news");
  const { id } = await publish("present", "hello");
  await client.receivedType("message");
  await go("/push/find?user=present");
  await page.getByText("present is online with 1 connection.").waitFor();
  const connections = page.getByRole("table", { name: "Connections of present" });
  await connections.getByRole("cell", { name: "news", exact: true }).waitFor();
  await page.getByText(/^Written on Slipway \(connections: 1\); no client has ack/).waitFor();
  client.send(JSON.stringify({ type: "ack", id }));
  for (const target of [{ targetType: "all" }, { targetType: "channel", target: "news" }])
    await server.admin.expect(200, "POST", "/api/push/publish", { ...target, data: "to many" });
  await client.receivedType("message", 3);
  await page.getByRole("button", { name: "Find", exact: true }).click();
  await page.getByText(/^Acknowledged on Slipway \(connections: 1 of 1\)/).waitFor();
  await page.getByText(/^Acknowledged by connection .+ \(slipway\.v1\)\.$/).waitFor();
  await page.getByText("Accepted, to all.", { exact: true }).waitFor();
  await page.getByText("Accepted, to the channel news.", { exact: true }).waitFor();
  await page.getByText(/^Written on Slipway to present in channel news \(connections: 1\)/).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Disconnect present" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  expect((await client.ended()).code).toBe(4004);
  await page.getByText(/^present went offline /).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the page is there in Chinese, and fits a phone", async () => {
  await publish("absent", "hello");
  const chinese = await openConsole(browser, server.url, { ...wide, locale: "zh-CN" });
  await chinese.go("/push/find?user=absent");
  await chinese.page.getByRole("heading", { name: "用户为什么没有收到？" }).waitFor();
  await chinese.page.getByText("absent 在所有实例上都没有连接。").first().waitFor();
  await chinese.page.getByRole("heading", { name: "“hello” → 用户 absent" }).first().waitFor();
  expect(await violations(chinese.page)).toEqual([]);
  await chinese.page.setViewportSize({ width: 390, height: 844 });
  expect(await chinese.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(391);
  expect(chinese.faults).toEqual([]);
  await chinese.close();
});
