import type { Webhook } from "../../shapes.ts";

type Rules = Pick<Webhook, "moreSkipKeywords" | "repositoryCheck" | "queuePolicy" | "debounceSeconds">;

/** The scope of the debounce has no usual value: the console and the API begin with different ones. */
export function hasUnusualRules(rules: Rules): boolean {
  return (
    rules.moreSkipKeywords.length > 0 ||
    rules.repositoryCheck !== "warn" ||
    rules.queuePolicy !== "always" ||
    rules.debounceSeconds !== null
  );
}
