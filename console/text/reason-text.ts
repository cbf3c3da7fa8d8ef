import { visible } from "../visible.ts";
import { language, patternOf, type TextKey } from "./text.ts";

type Values = Readonly<Record<string, string | { code: string; values: Readonly<Record<string, string>> }>>;

/** A sentence of a reason, as the API sends it. */
export interface ReasonPart {
  code: string;
  values: Values;
}

/**
 * A reason of the server in the language of the page. The English text of the server is shown if it has no code: the
 * message of another program, for example.
 */
export function reasonIn(text: string, parts: readonly ReasonPart[]): string {
  if (language() === "en" || parts.length === 0) return visible(text);
  return visible(parts.map(sentenceOf).join(""));
}

function sentenceOf({ code, values }: ReasonPart): string {
  return patternOf(`reason.${code}` as TextKey, {}).replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "string" ? value : sentenceOf(value);
  });
}
