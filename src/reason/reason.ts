import { allTexts } from "./all-texts.ts";

export type ReasonCode = keyof typeof allTexts;

/** A sentence as data: records and answers hold it, and it is rendered in a language where it is read. */
export interface Sentence {
  code: ReasonCode;
  values: { [name: string]: Reason };
}

/**
 * Why something is as it is: a sentence, or several in their order. A string is a text without a code: the message of
 * another program, or what an earlier version or an older runner wrote.
 */
export type Reason = string | Sentence | (string | Sentence)[];

type Names<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
export type Values<Code extends ReasonCode> = [Names<(typeof allTexts)[Code]>] extends [never]
  ? []
  : [
      values: {
        [Name in Names<(typeof allTexts)[Code]>]: Name extends "noun" | "act" ? Sentence : Reason | number;
      },
    ];

export function newReason<Code extends ReasonCode>(code: Code, ...[values]: Values<Code>): Sentence {
  const named: Record<string, Reason> = {};
  for (const [name, value] of Object.entries<Reason | number>(values ?? {}))
    named[name] = typeof value === "number" ? String(value) : value;
  return { code, values: named };
}

/** The sentences of several reasons, one after the other. */
export function inOrder(...reasons: Reason[]): (string | Sentence)[] {
  return reasons.flat().filter((reason) => reason !== "");
}

/** Code and values of each sentence; empty: it is, or holds, a text without a code. */
export function sentencesOf(reason: Reason): Sentence[] {
  const sentences = inOrder(reason);
  return sentences.every((sentence) => typeof sentence !== "string") ? sentences : [];
}

/** The same reason with another form of each text that others wrote: cut off, escaped or masked. */
export function mapTexts(reason: Reason, change: (text: string) => string): Reason {
  if (Array.isArray(reason)) return reason.map((each) => mapOne(each, change));
  return mapOne(reason, change);
}

function mapOne(reason: string | Sentence, change: (text: string) => string): string | Sentence {
  if (typeof reason === "string") return change(reason);
  const values: Record<string, Reason> = {};
  for (const name of Object.keys(reason.values)) values[name] = mapTexts(reason.values[name] ?? "", change);
  return { code: reason.code, values };
}

/** The English text of a reason. The console has the texts in its other languages. */
export function renderReason(reason: Reason): string {
  if (typeof reason === "string") return reason;
  if (Array.isArray(reason)) return reason.map(renderReason).join(" ");
  // Records outlive texts: a code whose text was removed is shown itself.
  const text: string = allTexts[reason.code] ?? reason.code;
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => renderReason(reason.values[name] ?? whole));
}
