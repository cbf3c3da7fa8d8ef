import { perLanguage } from "./text/text.ts";

const percent = perLanguage((language) => new Intl.NumberFormat(language, { style: "percent" }));

/** 0.98 → `98%`. */
export function percentText(share: number): string {
  return percent().format(share);
}
