import { z } from "@hono/zod-openapi";
import { isSafeRef, toFullRef } from "../../model/git-ref.ts";
import type { Page, PageRequest } from "../../model/page.ts";
import { nearest } from "../../nearest.ts";
import { maxFields } from "./field-faults.ts";

/** The schemas that every noun shares. Import `z` from here: it can describe itself for OpenAPI. */
export { z };

/** An object whose unknown fields are refused by name, with the field that was probably meant. */
export function strict<S extends z.core.$ZodLooseShape>(shape: S) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      // One line for each key, in order; field-faults.ts splits them again.
      return issue.keys
        .slice(0, maxFields)
        .map((key) => unknownField(key, names))
        .join("\n");
    },
  });
}

function unknownField(name: string, known: string[]): string {
  const meant = nearest(name, known);
  if (meant) return `is no field here; did you mean ${meant}?`;
  return known.length > 0 ? `is no field here; known are ${known.join(", ")}` : "is no field here";
}

/** Text of at most `max` characters that every database can hold: no NUL, no half characters. */
export function text(max: number, min = 0) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "has characters that are no text");
}

/** A name: one line without surrounding white space. */
export const name = text(100, 1)
  .refine(
    (value) => value === value.trim() && !/\p{Cc}/u.test(value),
    "must be one line without spaces around it",
  )
  .openapi({ example: "shop" });

/** A branch or tag that may be passed to git, full or short. */
export const gitRef = z
  .string()
  .refine(
    (ref) => isSafeRef(ref) && isSafeRef(toFullRef(ref)),
    "must be a branch or tag name by git's rules, such as main or refs/tags/v1",
  )
  .openapi({ example: "main" });

export const permission = z
  .enum(["view", "manage"])
  .openapi({ description: "`manage` includes `view`.", example: "view" });

/** The caller's permission, in responses with a project or group. */
export const ownPermission = permission.openapi({
  description: "What the caller may do with it, by themselves or through a group; `manage` includes `view`.",
  example: "manage",
});

/** Larger integers are not exact in JavaScript. */
export const maxId = Number.MAX_SAFE_INTEGER;

export const id = z.number().int().min(1).max(maxId);

const pathId = z.coerce.number().int().min(1).max(maxId);

/** Path parameters that are ids: `idParams("id", "userId")`. */
export function idParams<const N extends string>(...names: N[]) {
  const entries = names.map((name) => [
    name,
    pathId.openapi({ param: { name, in: "path" }, type: "integer", minimum: 1, example: 7 }),
  ]);
  return z.object(Object.fromEntries(entries) as Record<N, typeof pathId>);
}

/** A query parameter that is an id. */
export const queryId = pathId.openapi({ type: "integer", minimum: 1, example: 7 });

/** ISO 8601, UTC. */
export const time = z.iso.datetime().openapi({ example: "2026-01-31T09:30:00.000Z" });

/** A time in a body: ISO 8601 with its zone. */
export const bodyTime = z.iso
  .datetime({ offset: true, error: "must be an ISO 8601 time such as 2027-01-31T00:00:00Z" })
  .openapi({ example: "2027-01-31T00:00:00Z" });

/** A date, or a time with its zone; without one it would depend on the server. */
const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A time in a query: ISO 8601 or milliseconds since the epoch. */
export const queryTime = z
  .string()
  .transform((text, context) => {
    const at = new Date(/^\d{1,16}$/.test(text) ? Number(text) : isoTime.test(text) ? text : Number.NaN);
    if (!Number.isNaN(at.getTime())) return at;
    context.addIssue({
      code: "custom",
      message: "must be an ISO 8601 time (2026-01-31T09:30:00Z) or milliseconds since the epoch",
    });
    return z.NEVER;
  })
  .openapi({ type: "string", example: "2026-01-31T09:30:00Z" });

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
