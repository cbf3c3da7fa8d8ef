import type { Runner } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";

/** "Last seen" need not be more precise than this; it is used in tens of seconds. */
const seenEveryMs = 10_000;

/** A runner without free places does not request work, but it is connected. */
export async function noteSeen(
  store: Pick<Store, "runners" | "now">,
  { id, lastSeenAt }: Pick<Runner, "id" | "lastSeenAt">,
): Promise<void> {
  const now = store.now();
  if (lastSeenAt !== null && Math.abs(now.getTime() - lastSeenAt.getTime()) < seenEveryMs) return;
  await store.runners.update(id, { lastSeenAt: now });
}
