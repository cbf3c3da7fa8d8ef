import { createHash } from "node:crypto";
import { Fault } from "../../errors.ts";
import type { ApiContext } from "./context.ts";
import { json, z } from "./shape.ts";

/**
 * A revision names the state of something that people edit. It is made from the editable fields alone: a deploy or a
 * heartbeat changes nothing that an editor could overwrite.
 */
export const revision = z.string().openapi({
  description:
    "Changes with every saved change; also the `ETag`. Send it as `If-Match` to save upon it alone.",
  example: "Zk3vP0xq1nYt8Jr5sW2mZw",
});

const revisionLength = 22;

export function revisionOf(editable: object): string {
  return createHash("sha256").update(JSON.stringify(editable)).digest("base64url").slice(0, revisionLength);
}

/** The header of a request that changes something only as it was read. */
export const ifMatch = z.object({
  "if-match": z
    .string()
    .max(1000)
    .optional()
    .openapi({
      param: { name: "if-match", in: "header" },
      description:
        "The `ETag` of what was read. The change is refused with 412 if somebody saved another one since. Without the header it is " +
        "made in any case.",
      example: '"Zk3vP0xq1nYt8Jr5sW2mZw"',
    }),
});

export const changedMeanwhile = { 412: "It was changed since the revision that `If-Match` names." };

/** A JSON answer with the revision of what it holds as its `ETag`. */
export function tagged<T extends z.ZodType>(description: string, schema: T) {
  const headers = z.object({ etag: z.string().openapi({ description: "The revision, in quotes." }) });
  return { ...json(description, schema), headers };
}

/** Sets the `ETag` of what is answered. */
export function withTag<T extends { revision: string }>(c: ApiContext, body: T): T {
  c.header("etag", `"${body.revision}"`);
  return body;
}

/**
 * Throws unless the condition names the current revision. Call it in the transaction of the change. A proxy that
 * compresses turns the tag into a weak one (`W/"…"`), which names the same revision.
 */
export function refuseIfChanged(condition: string | undefined, current: string, noun: string): void {
  if (condition === undefined) return;
  const named = condition.split(",").map((tag) => tag.trim().replace(/^W\//, "").replaceAll('"', ""));
  if (named.includes("*") || named.includes(current)) return;
  throw new Fault(
    "changed_meanwhile",
    `The ${noun} was changed since you read it. Read it again, or leave If-Match out to overwrite what was saved meanwhile.`,
  );
}
