import { Fault, thrownReason } from "../errors.ts";
import { compareHook, type HostRequest, requestsOf, type WantedHook } from "../git-host/api/host-api.ts";
import type { HostHook } from "../model/host/host-hook.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { createdId, hasNextPage, idOf, rateLimitSeconds, reasonOf, succeeded } from "./host-answer.ts";
import type { HostAccess } from "./host-client.ts";

/** What a check found. */
export type Examined = Pick<HostHook, "state" | "note"> & {
  /** A later answer may differ without a change at the host: an outage, a rate limit. */
  isTemporary: boolean;
};

/** A repository has few webhooks: GitHub allows 20 for each event. */
const maxHookPages = 3;

/** The id of the hook with this address; null: the repository has none. */
async function hookWithUrl({ api, origin, call }: HostAccess, path: string, url: string) {
  const { listHooks } = requestsOf(api, path);
  for (let page = 1; page <= maxHookPages; page++) {
    const answer = await call(listHooks(page));
    const listed = succeeded(answer, origin, newReason("host_list_hooks"));
    const hooks = Array.isArray(listed) ? listed : [];
    const found = hooks.find((json) => api.hookUrl(json) === url);
    if (found !== undefined) return idOf(found);
    if (!hasNextPage(answer, page)) break;
  }
  return null;
}

/**
 * Changes the hook that was created before or a hook with the same address; otherwise creates one. A second hook with the same
 * address would deliver each push twice.
 */
export async function putHook(
  access: HostAccess,
  path: string,
  formerId: string | null,
  wanted: WantedHook,
): Promise<{ hookId: string; isNew: boolean }> {
  const { api, origin, call } = access;
  const { createHook, updateHook } = requestsOf(api, path);
  const update = async (id: string) => {
    const updated = await call(updateHook(id, wanted));
    if (updated.status === 404) return false;
    succeeded(updated, origin, newReason("host_change_hook"));
    return true;
  };
  if (formerId !== null && (await update(formerId))) return { hookId: formerId, isNew: false };
  const sameUrl = await hookWithUrl(access, path, wanted.url);
  if (sameUrl !== null && (await update(sameUrl))) return { hookId: sameUrl, isNew: false };
  const created = await call(createHook(wanted));
  return {
    hookId: createdId(succeeded(created, origin, newReason("host_create_hook")), origin),
    isNew: true,
  };
}

/** Reads hook and key at the host and compares them with what was created. */
export async function examineHook(access: HostAccess, hook: HostHook, url: string): Promise<Examined> {
  const { api, origin, call } = access;
  const unknown = (note: Reason, isTemporary = false) => ({ state: "unknown" as const, note, isTemporary });
  const definite = (found: Pick<HostHook, "state" | "note">) => ({ ...found, isTemporary: false });
  try {
    const answer = await call(requestsOf(api, hook.path).readHook(hook.hookId));
    if (answer.status === 404) {
      // GitHub also answers 404 if the token may no longer see the repository: only the list shows that it is gone.
      const other = await hookWithUrl(access, hook.path, url);
      return definite(
        other === null
          ? { state: "missing", note: newReason("note_gone", { origin }) }
          : { state: "changed", note: newReason("note_replaced") },
      );
    }
    if (answer.status !== 200)
      return unknown(reasonOf(answer), answer.status >= 500 || rateLimitSeconds(answer) !== null);
    if (idOf(answer.json) === null) return unknown(newReason("note_no_hook", { origin }), true);
    const compared = compareHook(api, answer.json, url);
    if (compared.state !== "ok" || hook.keyId === null) return definite(compared);
    return definite(await examineKey(access, hook.path, hook.keyId));
  } catch (error) {
    return unknown(thrownReason(error), true);
  }
}

async function examineKey({ api, origin, call }: HostAccess, path: string, keyId: string) {
  const answer = await call(requestsOf(api, path).readKey(keyId));
  if (answer.status === 404) return { state: "changed" as const, note: newReason("note_key_deleted") };
  const key = succeeded(answer, origin, newReason("host_show_key"));
  if (idOf(key) !== null && !api.isReadOnlyKey(key))
    return { state: "changed" as const, note: newReason("note_key_pushes") };
  return { state: "ok" as const, note: "" };
}

/** Whether the key is there and can only read. */
export async function hasGoodKey(access: HostAccess, path: string, keyId: string): Promise<boolean> {
  return (await examineKey(access, path, keyId)).state === "ok";
}

/** Creates a key that can only read, and reads it back. A key that the host does not confirm is deleted again. */
export async function putKey(access: HostAccess, path: string, title: string, publicKey: string) {
  const { api, origin, call } = access;
  const { createKey, readKey, deleteKey } = requestsOf(api, path);
  const created = await call(createKey(title, publicKey));
  const keyId = createdId(succeeded(created, origin, newReason("host_create_key")), origin);
  try {
    const read = succeeded(await call(readKey(keyId)), origin, newReason("host_show_key"));
    if (api.isReadOnlyKey(read)) return keyId;
    throw new Fault("conflict", newReason("deploy_key_pushes", { origin }));
  } catch (error) {
    await removeAt(access, path, deleteKey(keyId));
    throw error;
  }
}

/** Null: it is gone now. Otherwise the reason why it may still be there. */
export async function removeAt(
  { api, call }: HostAccess,
  path: string,
  request: HostRequest,
): Promise<Reason | null> {
  try {
    const answer = await call(request);
    if (answer.status >= 200 && answer.status < 300) return null;
    if (answer.status !== 404) return reasonOf(answer);
    // GitHub also answers 404 if the token may no longer see the repository.
    const listed = await call(requestsOf(api, path).listHooks(1));
    return listed.status === 200 ? null : reasonOf(listed);
  } catch (error) {
    return thrownReason(error);
  }
}
