import { Fault } from "./errors.ts";
import { newReason } from "./reason/reason.ts";

const revisionLength = 22;

/**
 * A revision identifies the state of an editable resource. It is derived only from the editable fields: a deploy or a
 * heartbeat changes nothing that an editor could overwrite.
 */
export function revisionOf(editable: object): string {
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify(editable))
    .digest("base64url")
    .slice(0, revisionLength);
}

type Noun = "project" | "group" | "user" | "runner" | "webhook" | "task" | "delivery";

/**
 * Throws unless the condition, an If-Match header, contains the current revision. Call it in the transaction of the
 * change. A compressing proxy turns the tag into a weak one (`W/"…"`), which means the same revision.
 */
export function refuseIfChanged(condition: string | undefined, current: string, noun: Noun): void {
  if (condition === undefined) return;
  const named = condition.split(",").map((tag) => tag.trim().replace(/^W\//, "").replaceAll('"', ""));
  if (named.includes("*") || named.includes(current)) return;
  throw new Fault("changed_meanwhile", newReason("changed_meanwhile", { noun: newReason(`noun_${noun}`) }));
}

/** Throws 404 if the resource is missing. */
export function existing<T>(resource: T | null | undefined, noun: Noun, id: number | string): T {
  if (resource === null || resource === undefined)
    throw new Fault("not_found", newReason("none", { noun: newReason(`noun_${noun}`), id }));
  return resource;
}
