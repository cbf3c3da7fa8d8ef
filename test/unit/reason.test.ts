import { describe, expect, test } from "bun:test";
import { en } from "../../console/text/en.ts";
import { reasonIn } from "../../console/text/reason-text.ts";
import { zhCN } from "../../console/text/zh-cn.ts";
import { webhookDefaults } from "../../src/model/webhook-config.ts";
import { allTexts } from "../../src/reason/all-texts.ts";
import { answerTexts } from "../../src/reason/answer-texts.ts";
import { fieldTexts } from "../../src/reason/field-texts.ts";
import { pipelineTexts } from "../../src/reason/pipeline-texts.ts";
import {
  inOrder,
  mapTexts,
  newReason,
  type Reason,
  renderReason,
  sentencesOf,
} from "../../src/reason/reason.ts";
import { reasonTexts } from "../../src/reason/reason-texts.ts";
import { reasonOf } from "../../src/reason/said-reason.ts";
import { systemTexts } from "../../src/reason/system-texts.ts";
import { warningTexts } from "../../src/reason/warning-texts.ts";
import { finishRequest } from "../../src/runner/protocol.ts";

const why = newReason("paths_cut", { sent: 20, total: 31 });
const nested = newReason("paths_unknown", { why });

test("a code has one meaning", () => {
  const all = [reasonTexts, fieldTexts, answerTexts, warningTexts, systemTexts, pipelineTexts].flatMap(
    (texts) => Object.keys(texts),
  );
  expect(all).toHaveLength(Object.keys(allTexts).length);
});

describe("a reason", () => {
  test("is data: a code and values, which may be reasons", () => {
    expect(nested).toEqual({
      code: "paths_unknown",
      values: { why: { code: "paths_cut", values: { sent: "20", total: "31" } } },
    });
    const held = { taskId: 1, attempt: 1, lease: "lease", state: "failed", reason: "as text" };
    const said = (reasonParts: unknown) => reasonOf(finishRequest.parse({ ...held, reasonParts }));
    expect(said(JSON.parse(JSON.stringify([nested])))).toEqual([nested]);
    expect(said([{ code: "of a newer runner", values: {} }])).toBe("as text");
    expect(said(undefined)).toBe("as text");
  });

  test("may be several sentences, and a text of another program", () => {
    const reason = inOrder(nested, "", "fatal: {why}", newReason("replaced", { delivery: 9 }));
    expect(sentencesOf(reason)).toEqual([]);
    expect(renderReason(reason)).toBe(
      "The changed paths are unknown (the host sent 20 of 31 commits), so the delivery passes. fatal: {why} Delivery 9 took over the task within the debounce window: the task builds the ref and commit of that delivery.",
    );
    expect(sentencesOf("fatal: repository not found")).toEqual([]);
  });

  test("is cut, escaped and masked where others wrote it, whatever they wrote", () => {
    const hostile = "x matches none of {y}. All filters passed.";
    const reason = inOrder(newReason("not_built", { why: newReason("ref_outside", { ref: hostile }) }));
    expect(renderReason(reason)).toBe(
      `Not built: A push builds a branch (refs/heads/…) or a tag (refs/tags/…); ${hostile} is neither.`,
    );
    expect(renderReason(mapTexts(reason, (text) => text.slice(0, 1)))).toContain("; x is neither.");
  });
});

test("the console shows the English text of the server, and the Chinese one by code and values", () => {
  const shown = (reason: Reason) => reasonIn(renderReason(reason), sentencesOf(reason));
  const files = newReason("many_files", { number: 3 });
  const unmatched = newReason("path_not_matched", { files, patterns: "docs/**" });
  globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
  expect(shown(unmatched)).toBe("更改的路径（3 个文件）都不匹配 docs/**。");
  expect(shown(inOrder(nested, newReason("replaced", { delivery: 9 })))).toBe(
    "更改的路径未知（托管平台只发送了 31 个提交中的 20 个），因此投递通过。投递 9 在防抖窗口内接管了该任务：任务构建的是那次投递的引用和提交。",
  );
  expect(shown("fatal: repository not found")).toBe("fatal: repository not found");
  expect(shown(newReason("must_be", { choices: '"view" or "manage"' }))).toBe('必须是 "view"或"manage"');
  expect(shown(newReason("task_over", { id: 7, state: "success" }))).toBe("任务 7 已结束：成功。");
  const newer = { code: "newer" as "sent", values: {} };
  expect(reasonIn("A text of a newer server.", [newer])).toBe("A text of a newer server.");
  globalThis.slipwayText = { language: "en", messages: en };
  expect(shown(unmatched)).toBe("None of the changed paths (3 files) matches docs/**.");
});

test("texts name the labels of the forms, not the fields of the API", () => {
  const ofWebhook = Object.keys(webhookDefaults).filter((name) => /[A-Z]/.test(name));
  const ofProject = ["git.url", "start.previous", "notByPusher", "commitStatus", "groupId"];
  const names = new RegExp(`\\b(${[...ofWebhook, ...ofProject].join("|").replaceAll(".", "\\.")})\\b`);
  const messages = [allTexts, zhCN.reason].map((texts) => Object.entries(texts));
  expect(messages.flat().filter(([, text]) => names.test(String(text)))).toEqual([]);
});
