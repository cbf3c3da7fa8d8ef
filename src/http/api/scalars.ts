import { permission } from "../../model/permission.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { type reasonSchema, type sentenceSchema, text, time } from "../../reason/schema-forms.ts";
import { z } from "./shape.ts";

export { permission, text, time };

/** The caller's permission, in responses with a project or group. */
export const ownPermission = permission.meta({
  description: "What the caller may do with it, by themselves or through a group; `manage` includes `view`.",
  example: "manage",
});

/** Larger integers are not exact in JavaScript. */
export const maxId = Number.MAX_SAFE_INTEGER;

export const id = z.number().int().min(1).max(maxId);

export const pathId = z.coerce.number().int().min(1).max(maxId);

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

type Answered<F> = F extends z.ZodDate
  ? typeof time
  : F extends z.ZodNullable<z.ZodDate>
    ? z.ZodNullable<typeof time>
    : F extends typeof reasonSchema | typeof sentenceSchema
      ? z.ZodString
      : F;

/** The fields of a model as answers have them: times in ISO 8601, reasons as English text. */
export function answered<S extends z.ZodRawShape>({ shape }: z.ZodObject<S>) {
  const entries = Object.entries(shape).map(([name, field]) => {
    const about = field instanceof z.ZodType ? (field.meta() ?? {}) : {};
    if (field instanceof z.ZodDate) return [name, time.meta(about)];
    if (field instanceof z.ZodNullable && field.unwrap() instanceof z.ZodDate)
      return [name, time.nullable().meta(about)];
    if (field instanceof z.ZodCustom) return [name, z.string().meta(about)];
    return [name, field];
  });
  return Object.fromEntries(entries) as { [K in keyof S]: Answered<S[K]> };
}

/** A time in a body: ISO 8601 with its zone. */
export const bodyTime = z.iso
  .datetime({ offset: true, error: ruleText("time_invalid") })
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
      message: ruleText("query_time_invalid"),
    });
    return z.NEVER;
  })
  .openapi({ type: "string", example: "2026-01-31T09:30:00Z" });
