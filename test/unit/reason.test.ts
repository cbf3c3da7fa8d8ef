import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { en } from "../../console/text/en.ts";
import { reasonIn } from "../../console/text/reason-text.ts";
import { zhCN } from "../../console/text/zh-cn.ts";
import { webhookDefaults } from "../../src/model/webhook-config.ts";
import { allTexts } from "../../src/reason/all-texts.ts";
import { answerTexts } from "../../src/reason/answer-texts.ts";
import { fieldTexts } from "../../src/reason/field-texts.ts";
import { formerTexts } from "../../src/reason/former-texts.ts";
import {
  answerParts,
  newReason,
  type Reason,
  type ReasonCode,
  type ReasonPart,
  reasonParts,
  reasonText,
  renderReason,
} from "../../src/reason/reason.ts";
import { reasonTexts } from "../../src/reason/reason-texts.ts";

const codes = Object.keys(allTexts) as ReasonCode[];
const reasonCodes = Object.keys(reasonTexts) as ReasonCode[];

function written({ code, values }: { code: ReasonCode; values: ReasonPart["values"] }): string {
  return allTexts[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === "object" ? written(value) : (value ?? "");
  });
}

const joined = (parts: ReasonPart[]) => parts.map(written).join(" ");

describe("code and values of a reason", () => {
  const words: Readonly<Record<string, ReasonCode>> = { noun: "noun_project", act: "host_list" };

  test.each(codes)("%s is recognised with its values", (code) => {
    const values: ReasonPart["values"] = {};
    const text = allTexts[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const word = words[name];
      values[name] = word === undefined ? `<${name}>` : { code: word, values: {} };
      return word === undefined ? `<${name}>` : allTexts[word];
    });
    const parts = reasonCodes.includes(code) ? reasonParts(text) : answerParts(text);
    expect(parts).toEqual([{ code, values }]);
  });

  test("a code has one meaning", () => {
    const all = [reasonTexts, fieldTexts, answerTexts].flatMap((texts) => Object.keys(texts));
    expect(all).toHaveLength(codes.length);
  });

  test("a refusal with the record of the delivery after it, and a fault of a field inside one, are recognised", () => {
    const refused = `${reasonText("not_enabled")} ${reasonText("delivery_record", { delivery: 7 })}`;
    expect(answerParts(refused).map(({ code }) => code)).toEqual(["not_enabled", "delivery_record"]);
    expect(answerParts(reasonText("clone_url", { fault: reasonText("url_dash") }))).toEqual([
      { code: "clone_url", values: { fault: { code: "url_dash", values: {} } } },
    ]);
  });

  test("a noun that is none of ours makes it the text of another program", () => {
    expect(answerParts("There is no space left on the device.")).toEqual([]);
    expect(answerParts(reasonText("none", { noun: "runner", id: 7 }))).toEqual([
      { code: "none", values: { noun: { code: "noun_runner", values: {} }, id: "7" } },
    ]);
  });

  test("a reason inside a reason, and sentences before and after one, are recognised", () => {
    const why = reasonText("paths_cut", { sent: 20, total: 31 });
    expect(reasonParts(reasonText("paths_unknown", { why }))).toEqual([
      {
        code: "paths_unknown",
        values: { why: { code: "paths_cut", values: { sent: "20", total: "31" } } },
      },
    ]);
    const accepted = [
      reasonText("all_passed"),
      reasonText("aside_others", { refs: "a, tag v1 and 3 more" }),
      reasonText("replaced", { delivery: 9 }),
    ];
    expect(reasonParts(accepted.join(" ")).map(({ code }) => code)).toEqual([
      "all_passed",
      "aside_others",
      "replaced",
    ]);
    const rolledBack = `${reasonText("rolled_back", { failed: "abc", serving: "def" })} ${reasonText("stage_failed", { stage: "deploy", exitCode: 1 })}`;
    expect(reasonParts(rolledBack).map(({ code }) => code)).toEqual(["rolled_back", "stage_failed"]);
  });

  test("what happened to the live version, and which task was live before, are two sentences", () => {
    const failed = reasonText("live_failed", { task: 7, commit: "abc1234" });
    const before = reasonText("live_before", { task: 6 });
    expect(reasonParts(`${failed} ${before}`).map(({ code }) => code)).toEqual([
      "live_failed",
      "live_before",
    ]);
  });

  test("the message of another program has no code", () => {
    for (const text of ["", "fatal: repository not found", "connect ECONNREFUSED 127.0.0.1:22"]) {
      expect(reasonParts(text)).toEqual([]);
      expect(answerParts(text)).toEqual([]);
    }
  });

  test("whatever a stranger writes into a value, code and values give the same text back", () => {
    const hostile = fc.oneof(
      fc.string({ minLength: 1, maxLength: 60 }),
      fc.constantFrom(
        "x matches none of y. All filters passed.",
        "{ref}",
        "a (b), so the delivery passes.",
        "v1 was deleted; there is nothing to build.",
        " Delivery 7 took over",
      ),
    );
    fc.assert(
      fc.property(fc.constantFrom(...codes), hostile, (code, value) => {
        const text = allTexts[code].replaceAll(/\{\w+\}/g, () => value);
        for (const parts of [reasonParts(text), answerParts(text)])
          if (parts.length > 0) expect(joined(parts)).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test("the console shows the English text of the server, and the Chinese one by code and values", () => {
    const text = reasonText("path_not_matched", { files: "3 files", patterns: "docs/**" });
    const parts = reasonParts(text);
    globalThis.slipwayText = { language: "zh-CN", messages: zhCN };
    expect(reasonIn(text, parts)).toBe("更改的路径（3 个文件）都不匹配 docs/**。");
    expect(reasonIn("fatal: repository not found", [])).toBe("fatal: repository not found");
    const choices = reasonText("must_be", { choices: '"view" or "manage"' });
    expect(reasonIn(choices, answerParts(choices))).toBe('必须是 "view"或"manage"');
    const over = reasonText("task_over", { id: 7, state: "success" });
    expect(reasonIn(over, answerParts(over))).toBe("任务 7 已结束：成功。");
    expect(reasonIn("A text of a newer server.", [{ code: "newer", values: {} }])).toBe(
      "A text of a newer server.",
    );
    globalThis.slipwayText = { language: "en", messages: en };
    expect(reasonIn(text, parts)).toBe(text);
  });
});

test("a reason is rendered from code and values, in English and in Chinese, with the reasons inside it", () => {
  const why = newReason("paths_cut", { sent: 20, total: 31 });
  const reason: Reason = [newReason("paths_unknown", { why }), newReason("replaced", { delivery: 9 })];
  expect(renderReason(reason)).toBe(
    "The changed paths are unknown (the host sent 20 of 31 commits), so the delivery passes. Delivery 9 took over the task within the debounce window: the task builds the ref and commit of that delivery.",
  );
  expect(renderReason(reason, zhCN.reason, "")).toBe(
    "更改的路径未知（托管平台只发送了 31 个提交中的 20 个），因此投递通过。投递 9 在去抖窗口内接管了该任务：任务构建的是那次投递的引用和提交。",
  );
  expect(renderReason("fatal: {why}")).toBe("fatal: {why}");
});

test.each(formerTexts.map(([code, text]) => ({ code, text })))(
  "a former text of $code is recognised",
  ({ code, text }) => {
    const values: Record<string, string> = {};
    const stored = text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      values[name] = `<${name}>`;
      return `<${name}>`;
    });
    expect(reasonParts(stored)).toEqual([{ code, values }]);
  },
);

test("texts name the labels of the forms, not the fields of the API", () => {
  const ofWebhook = Object.keys(webhookDefaults).filter((name) => /[A-Z]/.test(name));
  const ofProject = ["git.url", "start.previous", "notByPusher", "commitStatus", "groupId"];
  const names = new RegExp(`\\b(${[...ofWebhook, ...ofProject].join("|").replaceAll(".", "\\.")})\\b`);
  const messages = [allTexts, zhCN.reason].map((texts) => Object.entries(texts));
  expect(messages.flat().filter(([, text]) => names.test(String(text)))).toEqual([]);
});
