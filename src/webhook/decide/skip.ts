import type { NormalizedEvent } from "../../model/delivery.ts";
import { newReason } from "../../reason/reason.ts";
import type { Rules } from "../hook/compiled-rules.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/** Filter step 4: the commit message contains no skip keyword. */
export function matchKeyword(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  const message = event.message.toLowerCase();
  const found = rules.skipKeywords.find((keyword) => message.includes(keyword.toLowerCase()));
  const keyword = found ?? rules.skipKeywords.join(", ");
  const detail = newReason(found === undefined ? "keyword_absent" : "keyword_found", { keyword });
  trace.add("keyword", found === undefined ? "pass" : "stop", firstLineOf(event.message), keyword, detail);
  return found === undefined ? null : { code: "skip_keyword", reason: detail };
}

export function firstLineOf(message: string): string {
  return /^[^\r\n]*/.exec(message)?.[0] ?? "";
}
