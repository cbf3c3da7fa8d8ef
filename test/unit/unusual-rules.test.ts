import { expect, test } from "bun:test";
import { hasUnusualRules } from "../../console/pages/webhook/unusual-rules.ts";

const usual: Parameters<typeof hasUnusualRules>[0] = {
  moreSkipKeywords: [],
  repositoryCheck: "warn",
  queuePolicy: "always",
  debounceSeconds: null,
};

test("each rule that most projects leave as it is can be unusual", () => {
  expect(hasUnusualRules(usual)).toBe(false);
  const unusual: Partial<typeof usual>[] = [
    { queuePolicy: "skip" },
    { debounceSeconds: 20 },
    { debounceSeconds: 0 },
    { repositoryCheck: "enforce" },
    { moreSkipKeywords: ["[no ci]"] },
  ];
  for (const rule of unusual) expect([rule, hasUnusualRules({ ...usual, ...rule })]).toEqual([rule, true]);
});
