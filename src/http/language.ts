import { type Language, languages } from "../model/language.ts";

/** Cookie with the language that the signed-in user chose; it also selects the language of the sign-in page. */
const cookieName = "slipway_language";

/** The language in which the console's page is served: the user's choice, else the first known one of the browser. */
export function languageOf(request: Request): Language {
  return chosenLanguage(request) ?? acceptedLanguage(request.headers.get("accept-language") ?? "");
}

/** The language in the cookie of a request; null: none. */
export function chosenLanguage(request: Request): Language | null {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((part) => part.trim());
  const value = cookies.find((part) => part.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
  return languages.find((language) => language === value) ?? null;
}

/** Null removes the cookie: the browser decides. */
export function languageCookieHeader(language: Language | null, isSecure: boolean): string {
  const maxAge = language === null ? 0 : 365 * 24 * 3600;
  const secure = isSecure ? "; Secure" : "";
  return `${cookieName}=${language ?? ""}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

/** All kinds of Chinese are served in Simplified Chinese, all kinds of English in English. */
function acceptedLanguage(header: string): Language {
  const wanted = header
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
      const quality = parameters.find((each) => each.startsWith("q="))?.slice(2);
      return { primary: tag.split("-")[0], quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality);
  for (const { primary } of wanted) {
    const known = languages.find((language) => language.split("-")[0] === primary);
    if (known) return known;
  }
  return languages[0];
}
