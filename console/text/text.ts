import type { Language } from "../../src/model/language.ts";
import type { en } from "./en.ts";
import type { Area, Message } from "./message.ts";

/** The catalogue of the page's language. A script that runs before all others installs it. */
export interface Catalogue {
  language: Language;
  messages: Readonly<Record<string, Area>>;
}

declare global {
  var slipwayText: Catalogue;
}

type English = typeof en;

/** `area.key` of each message. */
export type TextKey = {
  [A in keyof English & string]: `${A}.${keyof English[A] & string}`;
}[keyof English & string];

type MessageAt<K> = K extends `${infer A}.${infer Name}`
  ? A extends keyof English
    ? Name extends keyof English[A]
      ? English[A][Name]
      : never
    : never
  : never;

type Placeholders<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholders<Rest> : never;

type NamesIn<M> = M extends string
  ? Placeholders<M>
  : M extends { other: infer S }
    ? "count" | Placeholders<S>
    : never;

/** The arguments after the key: the values of its placeholders, or nothing. `count` selects the plural. */
export type ValuesOf<K extends TextKey, Value> = [NamesIn<MessageAt<K>>] extends [never]
  ? []
  : [values: { readonly [Name in NamesIn<MessageAt<K>>]: Name extends "count" ? number : Value }];

/** The text of a key in the language of the page. Numbers are formatted; pass an id as a string. */
export function t<K extends TextKey>(key: K, ...[values]: ValuesOf<K, string | number>): string {
  const given = (values ?? {}) as Readonly<Record<string, string | number>>;
  return patternOf(key, given).replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    given[name] === undefined ? whole : shown(given[name]),
  );
}

/** The language of the page. */
export function language(): Language {
  return globalThis.slipwayText.language;
}

/** The text of a key with its placeholders; the plural category is already chosen. */
export function patternOf(key: TextKey, values: Readonly<Record<string, unknown>>): string {
  const [area = "", name = ""] = key.split(/\.(.*)/s);
  const message = globalThis.slipwayText.messages[area]?.[name];
  return message === undefined ? key : chosen(message, values.count);
}

function chosen(message: Message, count: unknown): string {
  if (typeof message === "string") return message;
  const category = pluralRules().select(typeof count === "number" ? count : 0);
  return message[category] ?? message.other;
}

export function shown(value: string | number): string {
  return typeof value === "number" ? numberFormat().format(value) : value;
}

const pluralRules = perLanguage((language) => new Intl.PluralRules(language));
const numberFormat = perLanguage((language) => new Intl.NumberFormat(language));

/** Formatters of Intl are costly to create; the language changes only with the page. */
export function perLanguage<T>(make: (language: Language) => T): () => T {
  let known: { language: Language; made: T } | null = null;
  return () => {
    if (known?.language !== language()) known = { language: language(), made: make(language()) };
    return known.made;
  };
}
