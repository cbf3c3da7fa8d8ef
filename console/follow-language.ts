import type { Language } from "../src/model/language.ts";
import { language } from "./text/text.ts";

const reloadedFor = "slipway-reloaded-for-language";

/**
 * Loads the page again if it is not in the language of the account: the page was served before the user was known. Once
 * per language, because a browser that refuses the cookie would load the page for ever.
 */
export function followLanguage(chosen: Language | null): void {
  const wanted = chosen ?? browserLanguage();
  if (wanted === language()) sessionStorage.removeItem(reloadedFor);
  else if (sessionStorage.getItem(reloadedFor) !== wanted) {
    sessionStorage.setItem(reloadedFor, wanted);
    location.reload();
  }
}

function browserLanguage(): Language {
  const known: Record<string, Language> = { en: "en", zh: "zh-CN" };
  const primaries = navigator.languages.map((tag) => tag.split("-")[0]?.toLowerCase() ?? "");
  return known[primaries.find((primary) => primary in known) ?? "en"] ?? "en";
}
