import { afterAll, expect, test } from "bun:test";
import { en } from "../../console/text/en.ts";
import type { Catalogue } from "../../console/text/text.ts";
import { zhCN } from "../../console/text/zh-cn.ts";
import { traceValue } from "../../console/trace-value.ts";

const english: Catalogue = { language: "en", messages: en };
globalThis.slipwayText = english;
afterAll(() => {
  globalThis.slipwayText = english;
});

const measures = () => [
  traceValue("size", "189 bytes"),
  traceValue("size", "25600 KB"),
  traceValue("rate", "120 a minute"),
];

test("measures of a trace are in the language of the page, names of others are not touched", () => {
  expect(measures()).toEqual(["189 bytes", "25,600 KB", "120 a minute"]);
  globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
  expect(measures()).toEqual(["189 字节", "25,600 KB", "每分钟 120 次"]);
  expect(traceValue("branch", "189 bytes")).toBe("189 bytes");
});
