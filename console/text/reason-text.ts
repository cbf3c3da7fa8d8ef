import type { Reason, Sentence } from "../../src/reason/reason.ts";
import { minuteText, shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { language } from "./text.ts";

/**
 * A text of the server in the language of the page. The text itself is shown in English, and if it has no code: the
 * message of another program, for example.
 */
export function reasonIn(text: string, parts: readonly Sentence[] = []): string {
  const sentences = parts.map(sentenceOf);
  const shown = sentences.length === 0 || sentences.includes(null) ? text : sentences.join("");
  return visible(
    shown
      .replaceAll(utcTime, (_, day: string, time: string) => minuteText(`${day}T${time}Z`))
      .replaceAll(wholeCommit, (commit) => shortCommit(commit)),
  );
}

/** Texts of the server have times in UTC; beside them, the page shows local ones. */
const utcTime = /\b(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) UTC/g;

/** Not in an address, which would lead nowhere. */
const wholeCommit = /(?<![\w/=.-])[0-9a-f]{40}(?![\w/-])/g;

/** Null: the catalogue does not have it. */
function sentenceOf({ code, values }: Sentence): string | null {
  const pattern = textAt("reason", code);
  return pattern === null
    ? null
    : pattern.replaceAll(/\{(\w+)\}/g, (whole, name: string) => shownValue(name, values[name]) ?? whole);
}

/** Values in which the server joined several texts by an English word. */
const lists: Readonly<Record<string, { between: string; type: Intl.ListFormatType }>> = {
  choices: { between: " or ", type: "disjunction" },
  formats: { between: " and ", type: "conjunction" },
};

function shownValue(name: string, value: Reason | undefined): string | null {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map((each) => shownValue(name, each)).join("");
  if (typeof value === "object") return sentenceOf(value);
  if (name === "state") return textAt("state", value) ?? value;
  const list = lists[name];
  return list === undefined ? value : new Intl.ListFormat(language(), list).format(value.split(list.between));
}

function textAt(area: string, key: string): string | null {
  const text = globalThis.slipwayText.messages[area]?.[key];
  return typeof text === "string" ? text : null;
}
