import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { PushClient } from "../support/push-client.ts";

const { browser, server } = await setUpConsole();

const publish = (target: string, data: string) =>
  server.admin.expect<{ id: string }>(200, "POST", "/api/push/publish", {
    targetType: "user",
    target,
    data,
    ack: true,
  });

test("the page says why a user did not get a message, with its content and what each connection did", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url, wide);
  await publish("absent", "hello <b>absent</b>");
  await go("/push");
  await page.getByRole("tab", { name: "Trace" }).click();
  await page.waitForURL("**/push/trace");
  await page.getByLabel("User ID").fill("absent");
  await page.getByRole("button", { name: "Find messages" }).click();
  await page.waitForURL("**/push/trace?user=absent");
  await page.getByRole("heading", { name: "absent had no connection on any instance." }).waitFor();
  await page.getByText("distributed; 0 written, 0 waiting, 0 acknowledged, 0 closed").waitFor();
  await page.getByText("Content", { exact: true }).click();
  await page.getByText("hello <b>absent</b>", { exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);

  const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
    userId: "present",
  });
  const address = `${server.url.replace("http", "ws")}/ws?code=${code}`;
  const client = await PushClient.open(address, ["slipway.v1"]);
  await client.receivedType("welcome");
  const { id } = await publish("present", "hello");
  await client.receivedType("message");
  await go("/push/trace?user=present");
  await page.getByRole("heading", { name: /^Written to 1 connections, on .+; no client has ack/ }).waitFor();
  client.send(JSON.stringify({ type: "ack", id }));
  client.close();
  await client.ended();
  await go("/push/trace?user=present");
  await page.getByRole("heading", { name: /^Acknowledged by 1 of 1 connections, on / }).waitFor();
  await page.getByText(/normal, slipway\.v1: acknowledged/).waitFor();

  await go("/push/trace?user=Absent");
  await page.getByText("No message to Absent is known.").waitFor();
  await page.getByText("There are messages to similar user IDs: absent.").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test("the page is there in Chinese, and fits a phone", async () => {
  await publish("absent", "hello");
  const chinese = await openConsole(browser, server.url, { ...wide, locale: "zh-CN" });
  await chinese.go("/push/trace?user=absent");
  await chinese.page.getByRole("heading", { name: "用户为什么没有收到？" }).waitFor();
  await chinese.page.getByRole("heading", { name: "absent 在所有实例上都没有连接。" }).first().waitFor();
  expect(await violations(chinese.page)).toEqual([]);
  await chinese.page.setViewportSize({ width: 390, height: 844 });
  expect(await chinese.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(391);
  expect(chinese.faults).toEqual([]);
  await chinese.close();
});
