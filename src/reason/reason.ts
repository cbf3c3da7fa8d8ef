import { allTexts } from "./all-texts.ts";
import { formerTexts } from "./former-texts.ts";
import { reasonTexts } from "./reason-texts.ts";

export type ReasonCode = keyof typeof allTexts;

/** One sentence of a reason. A value is text, or a part that stands inside the sentence. */
export interface ReasonPart {
  code: ReasonCode;
  values: Record<string, string | { code: ReasonCode; values: Record<string, string> }>;
}

type Names<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;

/** A sentence as data: records and answers hold it, and it is rendered in a language where it is read. */
export interface Sentence {
  code: ReasonCode;
  values: { readonly [name: string]: Reason };
}

/**
 * Why something is as it is: a sentence, or several in their order. A string is a text without a code: the message of
 * another program, or what an earlier version or an older runner wrote.
 */
export type Reason = string | Sentence | readonly Sentence[];

type Values<Code extends ReasonCode> = [Names<(typeof allTexts)[Code]>] extends [never]
  ? []
  : [values: Record<Names<(typeof allTexts)[Code]>, Reason | number>];

export function newReason<Code extends ReasonCode>(code: Code, ...[values]: Values<Code>): Sentence {
  const named: Record<string, Reason> = {};
  for (const [name, value] of Object.entries<Reason | number>(values ?? {}))
    named[name] = typeof value === "number" ? String(value) : value;
  return { code, values: named };
}

/** The text of a reason, in English or in the language of the given texts. */
export function renderReason(
  reason: Reason,
  texts: { readonly [code: string]: string } = allTexts,
  between = " ",
): string {
  if (typeof reason === "string") return reason;
  if ("code" in reason)
    return (texts[reason.code] ?? reason.code).replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const value = reason.values[name];
      return value === undefined ? whole : renderReason(value, texts, between);
    });
  return reason.map((sentence) => renderReason(sentence, texts, between)).join(between);
}

/** The English text of a reason. */
export function reasonText<Code extends ReasonCode>(code: Code, ...values: Values<Code>): string {
  return renderReason(newReason(code, ...values));
}

interface Template {
  code: ReasonCode;
  /** The fixed text before, between and after the values. */
  fixed: string[];
  names: string[];
}

function templateOf(code: ReasonCode, text: string): Template {
  const pieces = text.split(/\{(\w+)\}/);
  return {
    code,
    fixed: pieces.filter((_, index) => index % 2 === 0),
    names: pieces.filter((_, index) => index % 2 === 1),
  };
}

const templates: Template[] = [
  ...(Object.keys(allTexts) as ReasonCode[]).map((code) => templateOf(code, allTexts[code])),
  ...formerTexts.map(([code, text]) => templateOf(code, text)),
];

/** Reasons often quote other programs, whose messages must not be taken for a text of the API. */
const templatesOfReasons = templates.filter(({ code }) => code in reasonTexts);

const withCodes = (...codes: ReasonCode[]) =>
  codes.flatMap((wanted) => templates.filter(({ code }) => code === wanted));
/** Sentences that follow another one; the last of several comes first. */
const lasts = withCodes(
  ...(["delivery_record", "replaced", "aside_too_complex", "aside_others", "aside_none"] as const),
  "approval_again",
  "live_before",
);
/** Sentences that precede another one. */
const firsts = withCodes("rolled_back", "put_back", "still_serving", "rolling_back", "rollback_failed");
/** Values that may be parts. */
const nestedNames: readonly string[] = ["why", "files", "fault", "noun", "act"];
/** Values that must be one of our words: with another one, the text is not ours. */
const wordNames: readonly string[] = ["noun", "act"];
const words = new Set(templates.filter(({ names }) => names.length === 0).map(({ fixed }) => fixed[0]));

/**
 * Code and values of a stored reason; empty: a text without a code, for example the message of a program. Records store
 * the English text only, so that those of earlier versions and of older runners have codes too.
 */
export function reasonParts(text: string): ReasonPart[] {
  return partsOf(text, templatesOfReasons);
}

/** Code and values of a text in an answer of the API, which may be a reason. */
export function answerParts(text: string): ReasonPart[] {
  return partsOf(text, templates);
}

function partsOf(text: string, known: Template[]): ReasonPart[] {
  for (const template of lasts) {
    const start = text.lastIndexOf(` ${template.fixed[0]}`);
    const last = start > 0 ? matched(template, text.slice(start + 1))?.part : null;
    const before = last ? partsOf(text.slice(0, start), known) : [];
    if (last && before.length > 0) return [...before, last];
  }
  for (const template of firsts) {
    const ending = template.fixed.at(-1) ?? "";
    const end = text.indexOf(`${ending} `) + ending.length;
    const first = end > ending.length ? matched(template, text.slice(0, end))?.part : null;
    const after = first ? partsOf(text.slice(end + 1), known) : [];
    if (first && after.length > 0) return [first, ...after];
  }
  const only = partOf(text, known);
  return only ? [only] : [];
}

function partOf(text: string, known: Template[]): ReasonPart | null {
  return leastFree(known.map((template) => withParts(matched(template, text), known)))?.part ?? null;
}

/** A part that fits a text. */
interface Match<Part = ReasonPart> {
  part: Part;
  /** Characters that are left to the values. The match with the fewest is the least ambiguous. */
  free: number;
}
type InnerPart = { code: ReasonCode; values: Record<string, string> };

function leastFree<Part>(matches: (Match<Part> | null)[]): Match<Part> | null {
  return matches.reduce((best, match) => (match && (!best || match.free < best.free) ? match : best), null);
}

/** In linear time, because values may be long texts of strangers. */
function matched({ code, fixed, names }: Template, text: string): Match<InnerPart> | null {
  const [first = "", ...others] = fixed;
  const last = others.pop();
  if (last === undefined) return text === first ? { part: { code, values: {} }, free: 0 } : null;
  if (!text.startsWith(first) || !text.endsWith(last)) return null;
  const end = text.length - last.length;
  const found: string[] = [];
  let position = first.length;
  for (const between of others) {
    const next = text.indexOf(between, position);
    if (next === -1) return null;
    found.push(text.slice(position, next));
    position = next + between.length;
  }
  if (position > end) return null;
  found.push(text.slice(position, end));
  if (found.includes("")) return null;
  if (names.some((name, index) => wordNames.includes(name) && !words.has(found[index]))) return null;
  const values = Object.fromEntries(names.map((name, index) => [name, found[index] ?? ""]));
  return { part: { code, values }, free: found.join("").length };
}

/** Recognises the parts inside the values. */
function withParts(match: Match<InnerPart> | null, known: Template[]): Match | null {
  if (match === null) return null;
  const values: ReasonPart["values"] = { ...match.part.values };
  let { free } = match;
  for (const name of nestedNames) {
    const value = match.part.values[name];
    const inner = value === undefined ? null : leastFree(known.map((template) => matched(template, value)));
    if (value === undefined || inner === null) continue;
    values[name] = inner.part;
    free += inner.free - value.length;
  }
  return { part: { code: match.part.code, values }, free };
}
