import { z } from "@hono/zod-openapi";
import type { Page, PageRequest } from "../../model/page.ts";
import { strict } from "../../reason/schema-forms.ts";

/** The forms of requests and responses that every noun shares. Import `z` from here: it can describe itself for OpenAPI. */
export { strict, z };

/** Keeps page × pageSize within the integers of the databases. */
const maxPage = 1_000_000;

/** The query of every list. Spread it: `strict({ ...pageQuery, projectId: queryId.optional() })`. */
export const pageQuery = {
  page: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxPage)
    .default(1)
    .openapi({ type: "integer", minimum: 1, default: 1, example: 1 }),
  pageSize: z.coerce
    .number()
    .int()
    .min(1)
    .max(200)
    .default(20)
    .openapi({ type: "integer", minimum: 1, maximum: 200, default: 20, example: 20 }),
};

/** The response of every list. */
export function listOf<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      items: z.array(item),
      total: z.number().int(),
      page: z.number().int(),
      pageSize: z.number().int(),
    })
    .openapi(name);
}

/** One page of a list that is short enough to be read whole. */
export function slice<T>(items: T[], { page, pageSize }: PageRequest): Page<T> {
  const from = (page - 1) * pageSize;
  return { items: items.slice(from, from + pageSize), total: items.length, page, pageSize };
}

/** A page with its items as JSON. */
export function listJson<T, J>(page: Page<T>, write: (item: T) => J) {
  return { items: page.items.map(write), total: page.total, page: page.page, pageSize: page.pageSize };
}

type Json<T> = T extends Date ? string : T;

/** The fields of the shape, with times in ISO 8601. Other fields of `item`, such as hashes, are left out. */
export function jsonOf<S extends z.ZodRawShape, T extends Record<keyof S, unknown>>(
  { shape }: z.ZodObject<S>,
  item: T,
) {
  const entries = Object.keys(shape).map((key) => {
    const value = item[key];
    return [key, value instanceof Date ? value.toISOString() : value];
  });
  return Object.fromEntries(entries) as { [K in keyof S]: Json<T[K]> };
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Removes fields that are undefined. */
export function onlyGiven<T extends object>(input: T): Given<T> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** A JSON request body. Always `required`, so that an empty body is validated as `{}`, with defaults. */
export function jsonBody<T extends z.ZodType>(schema: T) {
  return { required: true, content: { "application/json": { schema } } } as const;
}

export function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { "application/json": { schema } } };
}

export const noContent = { description: "Done; the response has no body." };
