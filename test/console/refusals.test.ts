import { expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { startHostService } from "../support/host-services.ts";

// What the server refuses, in the Chinese console: no English sentence of the product itself is left.
const { browser, server } = await setUpConsole({
  "runner.enabled": false,
  "server.baseUrl": "https://slipway.example.com",
  "tasks.allowInternalNotifications": true,
});
const chinese = { ...wide, locale: "zh-CN" };
const view = await openConsole(browser, server.url, chinese);
const repository = "https://git.example.com/shop.git";
const shop = await server.project(repository, { build: "true" }, { name: "shop" });

test("a wrong password is refused in Chinese", async () => {
  const context = await browser.newContext(chinese);
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByLabel("用户名").fill("nobody");
  await page.getByRole("textbox", { name: /^密码/ }).fill("wrong password");
  await page.getByRole("button", { name: "登录" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("无法登录").waitFor();
  await alert.getByText("用户名或密码错误。").waitFor();
  expect(await alert.textContent()).not.toMatch(/[a-z]{2} [a-z]{2}/i);
  await context.close();
});

test("a refused field of the settings has its Chinese error beside it", async () => {
  const { page, go } = view;
  await go(`/projects/${shop}/settings/source`);
  await page.getByLabel("克隆地址").fill("ftp://nowhere");
  await page.getByLabel("名称").fill(" shop");
  const bar = page.getByRole("region", { name: "未保存的更改" });
  await bar.getByRole("button", { name: "保存" }).click();
  await page.getByText("必须以 https:// 或 ssh:// 开头").first().waitFor();
  await page.getByText("必须是一行，且前后没有空格").first().waitFor();
  expect(await page.locator("main").textContent()).not.toContain("must ");
  await bar.getByRole("button", { name: "放弃更改" }).click();
});

test("a name that is taken is reported at its field, in Chinese", async () => {
  const { page, go } = view;
  await server.admin.expect(201, "POST", "/api/groups", { name: "web" });
  await go("/groups");
  await page.getByRole("button", { name: "添加群组" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("web");
  await dialog.getByRole("button", { name: "添加群组" }).click();
  await dialog.getByText("已被使用：请换一个").waitFor();
  expect(await dialog.getByRole("textbox").getAttribute("aria-invalid")).toBe("true");
});

test("a token that the Git host refuses is reported in Chinese, with the host's address", async () => {
  const { page, go } = view;
  const gitea = startHostService("gitea");
  const id = await server.project(gitea.cloneUrl, { build: "true" }, { name: "hosted" });
  await server.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { provider: "gitea" });
  await go(`/projects/${id}/settings/rules`);
  await page.getByRole("button", { name: "用令牌创建 Webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("令牌", { exact: false }).last().fill("wrong");
  await dialog.getByRole("button", { name: "创建 Webhook" }).click();
  await dialog.getByText("令牌无效（401）：令牌有误、已过期或已被撤销。", { exact: false }).first().waitFor();
  expect(await dialog.textContent()).not.toContain("the token");
});

test("a permission that was withdrawn while the page was open is reported in Chinese", async () => {
  const { id } = await server.admin.expect(201, "POST", "/api/users", {
    username: "vera",
    password: userPassword,
  });
  const member = `/api/projects/${shop}/members/${id}`;
  await server.admin.expect(200, "PUT", member, { permission: "manage" });
  const { page, go, faults, close } = await openConsole(browser, server.url, chinese, {
    username: "vera",
    password: userPassword,
  });
  await go(`/projects/${shop}`);
  await page.getByRole("button", { name: "开始部署" }).click();
  await server.admin.expect(200, "PUT", member, { permission: "view" });
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "开始部署" }).click();
  await page.getByText("您可以查看此项目；如需更改，请申请“管理”权限。").waitFor();
  expect(faults).toEqual([]);
  await close();
});
