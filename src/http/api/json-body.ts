import { type BodyLimits, readText, refuseDeepJson } from "../body.ts";
import type { ApiContext } from "./context.ts";

/** Large enough for a webhook test with a whole payload in it. */
export const knownCallerLimits: BodyLimits = { maxBytes: 2 * 1024 * 1024, timeoutMs: 30_000 };

/** Endpoints without authentication accept only a name, a password or a code. */
export const anonymousLimits: BodyLimits = { maxBytes: 16 * 1024, timeoutMs: 10_000 };

/** Reads the body within its limits, for the validation that follows. */
export async function readJsonBody(c: ApiContext, limits: BodyLimits): Promise<void> {
  // Many clients send a content type without a body, which means the same as {}.
  const text = (await readText(c.req.raw, limits)) || "{}";
  refuseDeepJson(text);
  // Hono would read the body without a limit; it uses this cache instead.
  Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
}
