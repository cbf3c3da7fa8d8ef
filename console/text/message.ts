/** A text whose wording depends on the value `count`: one entry per plural category of the language. */
export type Plural = { readonly [category in Intl.LDMLPluralRule]?: string } & { readonly other: string };

export type Message = string | Plural;

/** Messages of one area, by key. */
export type Area = Readonly<Record<string, Message>>;

/** The same keys in another language. It has its own plural categories; a test compares the placeholders. */
export type Translated<English extends Area> = {
  readonly [Key in keyof English]: English[Key] extends string ? string : Plural;
};
