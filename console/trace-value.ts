import { t } from "./text/text.ts";
import { visible } from "./visible.ts";

/** What a step of a trace saw or compared with. The measures that the server writes are in the language of the page. */
export function traceValue(step: string, value: string): string {
  const [, digits = "", unit = ""] = /^(\d+) (bytes|KB|a minute)$/.exec(value) ?? [];
  if (step === "size" && unit === "bytes") return t("trace.bytes", { count: Number(digits) });
  if (step === "size" && unit === "KB") return t("trace.kilobytes", { count: Number(digits) });
  if (step === "rate" && unit === "a minute") return t("trace.perMinute", { count: Number(digits) });
  return visible(value);
}
