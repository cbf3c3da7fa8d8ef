import type { Insertable, Updateable } from "kysely";
import type { Reason } from "../../reason/reason.ts";
import type { Schema, TableName } from "./schema.ts";

/** What a column holds. */
export type Stored = string | number | null;
export type StoredRow = Record<string, Stored>;

/** PostgreSQL cannot hold a NUL in text. Both databases store the replacement character in its place. */
export function storable(parameters: readonly unknown[]): readonly unknown[] {
  if (!parameters.some(hasNul)) return parameters;
  return parameters.map((value) => (hasNul(value) ? value.replaceAll("\0", "\ufffd") : value));
}

function hasNul(value: unknown): value is string {
  return typeof value === "string" && value.includes("\0");
}

/** How a model's field is stored in its column. */
export interface Field<T> {
  encode(value: T): Stored;
  decode(stored: Stored): T;
}

/** Numbers, text and null are stored unchanged. */
export function plain<T extends Stored>(): Field<T> {
  return { encode: (value) => value, decode: (stored) => stored as T };
}

export const flag: Field<boolean> = {
  encode: (value) => (value ? 1 : 0),
  decode: (stored) => stored === 1,
};

export const time: Field<Date> = {
  encode: (value) => value.getTime(),
  decode: (stored) => new Date(Number(stored)),
};

export function json<T>(): Field<T> {
  return { encode: (value) => JSON.stringify(value), decode: (stored) => JSON.parse(String(stored)) as T };
}

/** As JSON; an empty text stays empty, so that queries can ask for it. */
export const reasonField: Field<Reason> = {
  encode: (reason) => (reason === "" ? "" : JSON.stringify(reason)),
  decode: (stored) => (stored === "" ? "" : (JSON.parse(String(stored)) as Reason)),
};

export function optional<T>(field: Field<T>): Field<T | null> {
  return {
    encode: (value) => (value === null ? null : field.encode(value)),
    decode: (stored) => (stored === null ? null : field.decode(stored)),
  };
}

export type Fields<M> = { [K in keyof M]-?: Field<M[K]> };

/** Converts a model into its table's row and back. */
export interface RowShape<M, T extends TableName> {
  /** Column names in the order of the fields. */
  columns: (keyof Schema[T] & string)[];
  columnOf(field: keyof M & string): string;
  /** The id is left out, because the database numbers its rows. */
  insert(model: Partial<M>): Insertable<Schema[T]>;
  update(change: Partial<M>): Updateable<Schema[T]>;
  read(row: object): M;
}

/** Columns are the field names in snake case. Fields that are absent or undefined are left out of the row. */
export function rowShape<M, T extends TableName>(fields: Fields<M>): RowShape<M, T> {
  const entries = Object.keys(fields).map((key) => ({
    key: key as keyof M,
    column: snakeCase(key),
    field: fields[key as keyof M] as Field<M[keyof M]>,
  }));
  const withoutId = entries.filter(({ column }) => column !== "id");
  const encode = (model: Partial<M>, encoded: typeof entries): StoredRow => {
    const row: StoredRow = {};
    for (const { key, column, field } of encoded) {
      const value = model[key];
      if (value !== undefined) row[column] = field.encode(value);
    }
    return row;
  };
  return {
    columns: entries.map((entry) => entry.column as keyof Schema[T] & string),
    columnOf: snakeCase,
    insert: (model) => encode(model, withoutId) as unknown as Insertable<Schema[T]>,
    update: (change) => encode(change, entries) as Updateable<Schema[T]>,
    read(row) {
      const stored = row as StoredRow;
      const model: Partial<M> = {};
      for (const { key, column, field } of entries) model[key] = field.decode(stored[column] ?? null);
      return model as M;
    },
  };
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
