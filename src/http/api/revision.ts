import type { ApiContext } from "./context.ts";
import { json, z } from "./shape.ts";

export const revision = z.string().openapi({
  description:
    "Changes with every saved change; also the `ETag`. Send it as `If-Match` to save only if it is still current.",
  example: "Zk3vP0xq1nYt8Jr5sW2mZw",
});

/** The header that makes a change conditional on a revision. */
export const ifMatch = z.object({
  "if-match": z
    .string()
    .max(1000)
    .optional()
    .openapi({
      param: { name: "if-match", in: "header" },
      description:
        "The `ETag` of the resource. The change is refused with 412 if the resource has changed since. Without the header it is " +
        "always made.",
      example: '"Zk3vP0xq1nYt8Jr5sW2mZw"',
    }),
});

/** A JSON response with the resource's revision as `ETag`. */
export function tagged<T extends z.ZodType>(description: string, schema: T) {
  const headers = z.object({ etag: z.string().openapi({ description: "The revision, in quotes." }) });
  return { ...json(description, schema), headers };
}

/** Sets the `ETag` of the response. */
export function withTag<T extends { revision: string }>(c: ApiContext, body: T): T {
  c.header("etag", `"${body.revision}"`);
  return body;
}
