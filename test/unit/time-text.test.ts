import { expect, test } from "bun:test";
import { en } from "../../console/text/en.ts";
import type { Catalogue } from "../../console/text/text.ts";
import { zhCN } from "../../console/text/zh-cn.ts";
import {
  durationText,
  relativeText,
  roughDurationText,
  shortRef,
  sizeText,
} from "../../console/time-text.ts";

const english: Catalogue = { language: "en", messages: en };
globalThis.slipwayText = english;

const now = Date.parse("2026-03-01T12:00:00Z");
const ago = (seconds: number) => relativeText(new Date(now - seconds * 1000).toISOString(), now);

test("times are written as people write them", () => {
  expect([3, 42, 120, 7300, 90_000, 400_000, -20].map(ago)).toEqual([
    "just now",
    "42 sec. ago",
    "2 min. ago",
    "2 hr. ago",
    "yesterday",
    "4 days ago",
    "in 20 sec",
  ]);
});

test("durations and sizes have one unit, or two that matter", () => {
  expect([420, 12_400, 60_000, 200_000, 7_500_000].map(durationText)).toEqual([
    "0.4 sec",
    "12 sec",
    "1 min",
    "3 min 20 sec",
    "2 hr 5 min",
  ]);
  expect([900, 2048, 5 * 1024 ** 2, 1.5 * 1024 ** 3].map(sizeText)).toEqual([
    "900 B",
    "2.0 KB",
    "5.0 MB",
    "1.5 GB",
  ]);
});

test("times, durations and sizes follow the language", () => {
  globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
  expect([3, 42, 120, 7300, 90_000, 400_000, -20].map(ago)).toEqual([
    "刚刚",
    "42秒前",
    "2分钟前",
    "2小时前",
    "昨天",
    "4天前",
    "20秒后",
  ]);
  expect([420, 200_000, 7_500_000].map(durationText)).toEqual(["0.4秒", "3分钟20秒", "2小时5分钟"]);
  globalThis.slipwayText = english;
});

test("a ref is shown by its short name", () => {
  expect(["refs/heads/release/2", "refs/tags/v1", "main"].map(shortRef)).toEqual(["release/2", "v1", "main"]);
});

test("a rough duration has no seconds from a minute on", () => {
  expect([59_000, 61_000, 868_000, 7_500_000].map(roughDurationText)).toEqual([
    "59 sec",
    "1 min",
    "14 min",
    durationText(7_500_000),
  ]);
});
