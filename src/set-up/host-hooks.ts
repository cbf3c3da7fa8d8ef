import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { requestsOf, type WantedHook } from "../git-host/api/host-api.ts";
import { statusApiFor } from "../git-host/recognise.ts";
import { type RepositoryPlace, repositoryPlaceOf } from "../model/git/repository-place.ts";
import type { HostHook } from "../model/host/host-hook.ts";
import { includes } from "../model/permission.ts";
import type { GitCredential, Project } from "../model/project.ts";
import { reservedSecrets, sealedPurpose } from "../model/sealed.ts";
import type { Store } from "../model/store.ts";
import { newReason, type Reason, type Sentence } from "../reason/reason.ts";
import type { Secrets } from "../secrets.ts";
import type { WebhookManagement } from "../webhook/management.ts";
import { examineHook, hasGoodKey, putHook, putKey, removeAt } from "./create-webhook.ts";
import { newDeployKey } from "./deploy-key.ts";
import type { HostAccess } from "./host-client.ts";
import type { HostTokens, OpenedToken } from "./host-tokens.ts";

export interface HostHooksOptions {
  store: Store;
  secrets: Secrets;
  clock: Clock;
  tokens: HostTokens;
  management: WebhookManagement;
  /** Polls the repository of a project at once. */
  pollNow(projectId: number): Promise<void>;
}

export interface ConnectRequest {
  tokenId: number;
  deployKey: boolean;
  /** Whether the token reports commit statuses, if the project has no token for them. */
  commitStatus: boolean;
  /** The repository that the user saw; undefined: not stated. */
  path?: string | undefined;
}

export const checkEveryMs = 24 * 3600 * 1000;
/** After an outage or a rate limit of the host. */
const checkAgainMs = 3600 * 1000;

type Audited = Parameters<WebhookManagement["save"]>[2];

/** Webhooks and deploy keys that are created at Git hosts, checked and repaired. */
export function buildHostHooks(options: HostHooksOptions) {
  const { store, secrets, clock, tokens, management } = options;
  const now = () => new Date(clock.now());
  /** Projects whose hook is being created: a second request at the same time would create a second hook. */
  const connecting = new Set<number>();

  /**
   * Enables the webhook. Its stored secret is kept, so that the hook at the host works on if a later step fails.
   * `undo` restores the webhook as it was.
   */
  async function prepareWebhook(project: Project, { kind }: HostAccess, audited: Audited) {
    const before = await management.read(project.id);
    const stored = before.secret && secrets.open(sealedPurpose.webhookSecret(project.id), before.secret);
    const secret = stored || management.generateSecret();
    const change = { enabled: true, provider: kind, ...(stored ? {} : { secret }) };
    const { url } = management.endpointOf(await management.save(project.id, change, audited));
    if (url === null) throw new Fault("internal", "The webhook has no address.");
    const { enabled, provider } = before;
    const undo = () =>
      management.save(project.id, { enabled, provider, ...(stored ? {} : { clearSecret: true }) }, audited);
    return { wanted: { url, secret } satisfies WantedHook, undo };
  }

  async function storeCredential(projectId: number, privateKey: string): Promise<void> {
    const credential: GitCredential = { type: "ssh", privateKey };
    const name = reservedSecrets.credential;
    const purpose = sealedPurpose.projectSecret(projectId, name);
    await store.projects.setSecret(projectId, name, secrets.seal(purpose, JSON.stringify(credential)));
    await options.pollNow(projectId);
  }

  /** A token that was stored for commit statuses before stays. */
  async function reportStatuses({ id }: Project, place: RepositoryPlace, token: OpenedToken): Promise<void> {
    const name = reservedSecrets.status;
    if (statusApiFor(place, token.kind) === null) return;
    if ((await store.projects.secrets(id)).some((secret) => secret.name === name)) return;
    const value = secrets.open(sealedPurpose.hostToken(token.userId, token.origin), token.ciphertext);
    await store.projects.setSecret(id, name, secrets.seal(sealedPurpose.projectSecret(id, name), value));
  }

  /** The key that exists and can only read, or a new one. */
  async function ensureKey(access: HostAccess, hook: HostHook, project: Project): Promise<string> {
    if (hook.keyId !== null && (await hasGoodKey(access, hook.path, hook.keyId))) return hook.keyId;
    const { publicKey, privateKey } = newDeployKey(`slipway-project-${project.id}`);
    // Gitea refuses a second key of the same name, and a key that is not known here may have it.
    const title = `Slipway: ${project.name} ${crypto.randomUUID().slice(0, 8)}`;
    const keyId = await putKey(access, hook.path, title, publicKey);
    const { deleteKey } = requestsOf(access.api, hook.path);
    try {
      await storeCredential(project.id, privateKey);
    } catch (error) {
      await removeAt(access, hook.path, deleteKey(keyId));
      throw error;
    }
    if (hook.keyId !== null) await removeAt(access, hook.path, deleteKey(hook.keyId));
    return keyId;
  }

  /** Compares with the host. `access` null: the reason is in `note`. */
  async function examined(hook: HostHook, access: HostAccess | null, note: Reason): Promise<HostHook> {
    const { url } = management.endpointOf(await management.read(hook.projectId));
    const found = access
      ? await examineHook(access, hook, url ?? "")
      : { state: "unknown" as const, note, isTemporary: false };
    const nextCheckAt = new Date(clock.now() + (found.isTemporary ? checkAgainMs : checkEveryMs));
    return { ...hook, state: found.state, note: found.note, checkedAt: now(), nextCheckAt };
  }

  /** The token for the daily check, while its owner may manage the project; otherwise the reason. */
  async function accessForCheck({ tokenId, projectId, kind }: HostHook): Promise<HostAccess | Sentence> {
    const token = tokenId === null ? null : await store.hostTokens.byId(tokenId);
    if (token === null) return newReason("note_token_deleted");
    const owner = await store.users.byId(token.userId);
    if (owner === null || owner.disabled) return newReason("note_owner_disabled");
    const held = owner.role === "admin" ? "manage" : await store.permissions.ofProject(owner.id, projectId);
    if (!includes(held, "manage")) return newReason("note_owner_permission");
    if (token.kind !== kind) return newReason("note_token_kind");
    return tokens.open(token);
  }

  /** A token of the caller: the token that created the hook, or another one for the same server. */
  async function accessOf(userId: number, hook: HostHook, act: Sentence): Promise<OpenedToken> {
    const access = await tokens.openForOrigin(userId, hook.kind, hook.origin);
    if (access !== null) return access;
    throw new Fault("conflict", newReason("own_token_needed", { act, origin: hook.origin }));
  }

  async function connectOnce(
    project: Project,
    userId: number,
    { tokenId, deployKey, commitStatus, path: seenPath }: ConnectRequest,
    audited: Audited,
  ): Promise<HostHook> {
    const token = await tokens.openFor(userId, tokenId);
    const place = placeFor(project, token);
    const { path } = place;
    requireBaseUrl(management);
    if (deployKey && !/^ssh:|^[^/]+@/i.test(project.git.url))
      throw new Fault("invalid", newReason("deploy_key_url"), {
        fields: [{ field: "deployKey", message: newReason("deploy_key_ssh") }],
      });
    const stored = await store.hostHooks.ofProject(project.id);
    const atServer = stored?.origin === token.origin ? stored : null;
    // Another manager may have changed the clone URL: the token must not be used for a repository that its owner did not see.
    const expected = seenPath ?? stored?.path ?? path;
    if (expected !== path && (seenPath !== undefined || !(await isGone(token, atServer))))
      throw new Fault("conflict", newReason("repository_moved", { path, expected }));
    const { wanted, undo } = await prepareWebhook(project, token, audited);
    const { kind, origin } = token;
    const put = await putHook(token, path, atServer?.hookId ?? null, wanted).catch(async (error: unknown) => {
      // The first error says what failed.
      await undo().catch(() => undefined);
      throw error;
    });
    // The same webhook under another path: the repository was renamed, and its key is still there.
    const isSame = atServer !== null && (atServer.path === path || atServer.hookId === put.hookId);
    const former = isSame ? atServer : null;
    const hook: HostHook = {
      ...{ projectId: project.id, tokenId, kind, origin, path, hookId: put.hookId },
      ...{ keyId: former?.keyId ?? null, state: "ok", note: "", checkedAt: now(), nextCheckAt: now() },
    };
    // Stored before the key is created: what exists at the host is known here even if a later step fails.
    await store.hostHooks.save(hook).catch(async (error: unknown) => {
      if (put.isNew) await removeAt(token, path, requestsOf(token.api, path).deleteHook(put.hookId));
      throw error;
    });
    if (atServer !== null && former === null) await removeBoth(token, atServer);
    const keyId = deployKey || hook.keyId !== null ? await ensureKey(token, hook, project) : null;
    if (commitStatus) await reportStatuses(project, place, token);
    const read = await examined({ ...hook, keyId }, token, "");
    if (await store.hostHooks.change(hook, read)) return read;
    throw new Fault("conflict", newReason("hook_gone"));
  }

  return {
    /** Whether the Git host knows an address of this server. */
    canCreate: () => hasBaseUrl(management),
    ofProject: (projectId: number) => store.hostHooks.ofProject(projectId),
    /** Creates the webhook at the host, or repairs it, with a token of the caller. */
    async connect(
      project: Project,
      userId: number,
      request: ConnectRequest,
      audited: Audited,
    ): Promise<HostHook> {
      if (connecting.has(project.id)) throw new Fault("conflict", newReason("hook_in_progress"));
      connecting.add(project.id);
      try {
        return await connectOnce(project, userId, request, audited);
      } finally {
        connecting.delete(project.id);
      }
    },
    /** The daily check. */
    async check(hook: HostHook): Promise<void> {
      const access = await accessForCheck(hook);
      const found = "code" in access ? await examined(hook, null, access) : await examined(hook, access, "");
      await store.hostHooks.saveCheck(hook, found);
    },
    /** A check that a user asked for, with a token of that user. */
    async checkFor(userId: number, hook: HostHook): Promise<HostHook> {
      const { tokenId, kind, origin } = hook;
      const access =
        tokenId === null
          ? await tokens.openForOrigin(userId, kind, origin)
          : await accessOf(userId, hook, newReason("host_check_hook"));
      const found = await examined(hook, access, newReason("note_token_deleted"));
      if (await store.hostHooks.saveCheck(hook, found)) return found;
      return (await store.hostHooks.ofProject(hook.projectId)) ?? found;
    },
    /** Forgets webhook and deploy key, and leaves them at the host: it may no longer have them, or not say so. */
    forget: (hook: HostHook) => store.hostHooks.delete(hook.projectId),
    /** Deletes webhook and deploy key at the host, with a token of the caller. */
    async disconnect(hook: HostHook, userId: number): Promise<void> {
      const access = await accessOf(userId, hook, newReason("host_delete_hook"));
      const { hookFault, keyFault } = await removeBoth(access, hook);
      if (hookFault === null && keyFault === null) {
        await store.hostHooks.delete(hook.projectId);
        return;
      }
      if (keyFault === null) await store.hostHooks.change(hook, { ...hook, keyId: null });
      const place = `${hook.origin}/${hook.path}`;
      const both = { place, why: hookFault ?? "", fault: keyFault ?? "" };
      throw new Fault(
        "conflict",
        keyFault === null
          ? newReason("hook_not_deleted", both)
          : hookFault === null
            ? newReason("key_not_deleted", both)
            : newReason("both_not_deleted", both),
      );
    },
  };
}
export type HostHooks = ReturnType<typeof buildHostHooks>;

/** Whether the repository of a hook is no longer at its path: the host does not find it, or redirects to its new name. */
async function isGone({ api, call }: HostAccess, hook: HostHook | null): Promise<boolean> {
  if (hook === null) return false;
  const { status } = await call(requestsOf(api, hook.path).listHooks(1));
  return status === 404 || (status >= 300 && status < 400);
}

async function removeBoth(access: HostAccess, { path, hookId, keyId }: HostHook) {
  const { deleteHook, deleteKey } = requestsOf(access.api, path);
  const hookFault = await removeAt(access, path, deleteHook(hookId));
  const keyFault = keyId === null ? null : await removeAt(access, path, deleteKey(keyId));
  return { hookFault, keyFault };
}

function hasBaseUrl(management: WebhookManagement): boolean {
  return management.endpointOf({ key: "" }).baseUrlConfigured;
}

function requireBaseUrl(management: WebhookManagement): void {
  if (!hasBaseUrl(management)) throw new Fault("conflict", newReason("base_url_unset"));
}

/** The repository, if the token belongs to its server: a token must not be sent to another one. */
function placeFor({ git }: Project, { origin }: OpenedToken): RepositoryPlace {
  const place = repositoryPlaceOf(git.url);
  const isSsh = !/^https?:/i.test(git.url);
  const isSame =
    place !== null &&
    (place.origin === origin || (isSsh && new URL(place.origin).hostname === new URL(origin).hostname));
  if (place !== null && isSame && place.path !== "") return place;
  const message = place
    ? newReason("token_other_host", { origin, other: place.origin })
    : newReason("token_no_host", { origin });
  throw new Fault("invalid", newReason("token_refused", { fault: message }), {
    fields: [{ field: "tokenId", message }],
  });
}
