import { createHash } from "node:crypto";
import { Fault } from "../../errors.ts";
import type { ApiContext } from "./context.ts";
import { json, z } from "./shape.ts";

/**
 * A revision identifies the state of an editable resource. It is derived only from the editable fields: a deploy or a
 * heartbeat changes nothing that an editor could overwrite.
 */
export const revision = z.string().openapi({
  description:
    "Changes with every saved change; also the `ETag`. Send it as `If-Match` to save only if it is still current.",
  example: "Zk3vP0xq1nYt8Jr5sW2mZw",
});

const revisionLength = 22;

export function revisionOf(editable: object): string {
  return createHash("sha256").update(JSON.stringify(editable)).digest("base64url").slice(0, revisionLength);
}

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

export const changedMeanwhile = { 412: "The resource has changed since the revision in `If-Match`." };

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

/**
 * Throws unless the condition contains the current revision. Call it in the transaction of the change. A compressing proxy
 * turns the tag into a weak one (`W/"…"`), which means the same revision.
 */
export function refuseIfChanged(condition: string | undefined, current: string, noun: string): void {
  if (condition === undefined) return;
  const named = condition.split(",").map((tag) => tag.trim().replace(/^W\//, "").replaceAll('"', ""));
  if (named.includes("*") || named.includes(current)) return;
  throw new Fault(
    "changed_meanwhile",
    `The ${noun} was changed since you read it. Read it again, or omit If-Match to overwrite the saved changes.`,
  );
}
