import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { actionName, fieldName, subjectName } from "../../console/audit-name.ts";
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

/** The actions that the server writes into the audit log. */
const written = [...new Bun.Glob("src/**/*.ts").scanSync(".")].flatMap((file) =>
  [
    ...readFileSync(file, "utf8")
      .replaceAll(/^\s*(\/\*)?\*.*$/gm, "")
      .matchAll(/\baction(?: =|:)[^;\n]*/g),
  ].flatMap(([line]) =>
    [...line.matchAll(/"([a-z][a-z-]*[.][a-z][a-z-]*)"/g)].map(([, action = ""]) => action),
  ),
);

test("each action of the server has words in both languages", () => {
  expect(written.length).toBeGreaterThan(25);
  expect(written).toContain("group.set-member");
  for (const text of [english, { language: "zh-CN" as const, messages: zhCN }]) {
    globalThis.slipwayText = text;
    expect(written.filter((action) => actionName(action) === action)).toEqual([]);
  }
});

test("actions and kinds of the audit log are in the language of the page", () => {
  globalThis.slipwayText = english;
  expect(actions.map(actionName)).toEqual([
    "project: changed",
    "webhook: address reset",
    "webhook at the host: connected",
    "host token: forgotten",
    "notifications: default address removed",
    "system: backed up",
    "constructor.create",
  ]);
  expect(actionName("auth.login")).toBe("account: signed in");
  expect([fieldName("alsoUnlabelled"), fieldName("labels")]).toEqual(["projects without labels", "labels"]);
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
  expect(actionName("auth.login")).toBe("账号：登录");
  expect(fieldName("alsoUnlabelled")).toBe("没有标签的项目");
  expect(subjectName("project shop 2")).toBe("项目 shop 2");
  expect(subjectName("")).toBe("");
});
