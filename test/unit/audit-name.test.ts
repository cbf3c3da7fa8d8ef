import { afterAll, expect, test } from "bun:test";
import { actionName, subjectName } from "../../console/audit-name.ts";
import { en } from "../../console/text/en.ts";
import type { Catalogue } from "../../console/text/text.ts";
import { zhCN } from "../../console/text/zh-cn.ts";

const english: Catalogue = { language: "en", messages: en };
globalThis.slipwayText = english;
afterAll(() => {
  globalThis.slipwayText = english;
});

const actions = [
  "project.update",
  "webhook.reset-key",
  "host-hook.connect",
  "host-token.forget",
  "notify.default-remove",
  "system.backup",
  "constructor.create",
];

test("actions and kinds of the audit log are in the language of the page", () => {
  expect(actions.map(actionName)).toEqual(actions);
  expect(subjectName("project shop 2")).toBe("project shop 2");
  globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
  expect(actions.map(actionName)).toEqual([
    "项目：修改",
    "Webhook：重置地址",
    "平台 Webhook：连接",
    "平台令牌：忘记",
    "通知：移除默认地址",
    "系统：备份",
    "constructor.create",
  ]);
  expect(subjectName("project shop 2")).toBe("项目 shop 2");
  expect(subjectName("")).toBe("");
});
