import { isSafeRef, toFullRef } from "../../model/git/git-ref.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "../../reason/schema-forms.ts";
import { z } from "./shape.ts";

export { text };

/** A name: one line without surrounding white space. */
export const name = text(100, 1)
  .refine((value) => value === value.trim() && !/\p{Cc}/u.test(value), ruleText("not_one_line"))
  .openapi({ example: "shop" });

/** A branch or tag that may be passed to git, full or short. */
export const gitRef = z
  .string()
  .refine((ref) => isSafeRef(ref) && isSafeRef(toFullRef(ref)), ruleText("ref_invalid"))
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

/** ISO 8601, UTC. */
export const time = z.iso.datetime().openapi({ example: "2026-01-31T09:30:00.000Z" });

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
