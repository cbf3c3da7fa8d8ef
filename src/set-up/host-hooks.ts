import type { Clock } from "../clock.ts";
import { Fault, messageOf } from "../errors.ts";
import type { HostHook } from "../model/host/host-hook.ts";
import type { GitCredential, Project } from "../model/project.ts";
import { reservedSecrets, sealedPurpose } from "../model/sealed.ts";
import type { Store } from "../model/store.ts";
import type { Secrets } from "../secrets.ts";
import { type RepositoryPlace, repositoryPlaceOf } from "../task/notify/repository-place.ts";
import type { WebhookManagement } from "../webhook/management.ts";
import { newDeployKey } from "./host/deploy-key.ts";
import type { WantedHook } from "./host/host-api.ts";
import { createdId, hostApis, reasonOf, succeeded } from "./host/host-client.ts";
import type { HostTokens, OpenedToken } from "./host-tokens.ts";

export interface HostHooksOptions {
  store: Store;
  secrets: Secrets;
  clock: Clock;
  tokens: HostTokens;
  management: WebhookManagement;
}

export const checkEveryMs = 24 * 3600 * 1000;
/** The former secret stays valid while the host takes over the new one. */
const overlapMs = 3600 * 1000;

type Audited = Parameters<WebhookManagement["save"]>[2];

/** Webhooks and deploy keys that are created at Git hosts, checked and repaired. */
export function buildHostHooks({ store, secrets, clock, tokens, management }: HostHooksOptions) {
  const now = () => new Date(clock.now());

  /** Gives the webhook a new secret: the one at the host cannot be read back. */
  async function wantedHook(project: Project, token: OpenedToken, audited: Audited): Promise<WantedHook> {
    const secret = management.generateSecret();
    const { secret: former } = await management.read(project.id);
    const overlap = former === null ? {} : { secondSecretUntil: new Date(clock.now() + overlapMs) };
    const change = { enabled: true, provider: token.kind, secret, ...overlap };
    const { url } = management.endpointOf(await management.save(project.id, change, audited));
    if (url === null) throw new Fault("internal", "The webhook has no address.");
    return { url, secret };
  }

  /** Updates the hook that is still at the host, or creates one. Returns its id. */
  async function putHook(token: OpenedToken, path: string, former: HostHook | null, wanted: WantedHook) {
    const { kind, origin, call } = token;
    const api = hostApis[kind];
    const isSame = former !== null && former.origin === origin && former.path === path;
    if (isSame) {
      const updated = await call(api.updateHook(path, former.hookId, wanted));
      if (updated.status !== 404) {
        succeeded(updated, origin, "change the webhook");
        return former.hookId;
      }
    }
    return createdId(
      succeeded(await call(api.createHook(path, wanted)), origin, "create the webhook"),
      origin,
    );
  }

  async function putKey(token: OpenedToken, path: string, project: Project): Promise<string> {
    const { kind, origin, call } = token;
    const api = hostApis[kind];
    const { publicKey, privateKey } = newDeployKey(`slipway-project-${project.id}`);
    const title = `Slipway: ${project.name}`;
    const created = await call(api.createKey(path, title, publicKey));
    const keyId = createdId(succeeded(created, origin, "create the deploy key"), origin);
    const read = succeeded(await call(api.readKey(path, keyId)), origin, "show the deploy key");
    if (!api.isReadOnlyKey(read)) {
      await call(api.deleteKey(path, keyId));
      throw new Fault("conflict", `${origin} gave the deploy key permission to push; it was deleted again.`);
    }
    const credential: GitCredential = { type: "ssh", privateKey };
    const name = reservedSecrets.credential;
    const purpose = sealedPurpose.projectSecret(project.id, name);
    await store.projects.setSecret(project.id, name, secrets.seal(purpose, JSON.stringify(credential)));
    return keyId;
  }

  /** Reads the hook at the host and compares it. */
  async function examined(hook: HostHook): Promise<HostHook> {
    const checked = { ...hook, checkedAt: now(), nextCheckAt: new Date(clock.now() + checkEveryMs) };
    const stored = hook.tokenId === null ? null : await store.hostTokens.byId(hook.tokenId);
    if (stored === null) return { ...checked, state: "unknown", note: "The token was deleted." };
    try {
      const { call, kind } = tokens.open(stored);
      const api = hostApis[kind];
      const answer = await call(api.readHook(hook.path, hook.hookId));
      if (answer.status === 404)
        return { ...checked, state: "missing", note: `It is no longer at ${hook.origin}.` };
      if (answer.status !== 200) return { ...checked, state: "unknown", note: reasonOf(answer) };
      const { url } = management.endpointOf(await management.read(hook.projectId));
      return { ...checked, ...api.compareHook(answer.json, url ?? "") };
    } catch (error) {
      return { ...checked, state: "unknown", note: messageOf(error) };
    }
  }

  /** Deletes one thing at the host; what is already gone is fine. */
  async function removeAt({ call, origin }: OpenedToken, request: Parameters<OpenedToken["call"]>[0]) {
    const answer = await call(request);
    if (answer.status !== 404) succeeded(answer, origin, "delete it");
  }

  return {
    ofProject: (projectId: number) => store.hostHooks.ofProject(projectId),
    /** Creates the webhook at the host, or repairs it, with a token of the caller. */
    async connect(
      project: Project,
      userId: number,
      { tokenId, deployKey }: { tokenId: number; deployKey: boolean },
      audited: Audited,
    ): Promise<HostHook> {
      const token = await tokens.openFor(userId, tokenId);
      const { path } = placeFor(project, token);
      if (!management.endpointOf({ key: "" }).baseUrlConfigured)
        throw new Fault(
          "conflict",
          "The Git host could not reach this server: set server.baseUrl in slipway.yaml to its public address and restart it.",
        );
      if (deployKey && !/^ssh:|^[^/]+@/i.test(project.git.url))
        throw new Fault("invalid", "A deploy key needs an ssh clone URL.", {
          fields: [{ field: "deployKey", message: "needs an ssh clone URL; change it in the settings" }],
        });
      const former = await store.hostHooks.ofProject(project.id);
      const wanted = await wantedHook(project, token, audited);
      const hookId = await putHook(token, path, former, wanted);
      const { kind, origin } = token;
      const hook: HostHook = {
        ...{ projectId: project.id, tokenId, kind, origin, path, hookId, keyId: former?.keyId ?? null },
        ...{ state: "ok", note: "", checkedAt: now(), nextCheckAt: now() },
      };
      // Stored before the key is created: what exists at the host is known here even if a later step fails.
      await store.hostHooks.save(hook);
      if (deployKey && hook.keyId === null) hook.keyId = await putKey(token, path, project);
      const read = await examined(hook);
      await store.hostHooks.save(read);
      return read;
    },
    /** Examines the hook now and stores what was found. */
    async check(hook: HostHook): Promise<HostHook> {
      const found = await examined(hook);
      const current = await store.hostHooks.ofProject(hook.projectId);
      if (current?.hookId === hook.hookId && current.tokenId === hook.tokenId)
        await store.hostHooks.save(found);
      return found;
    },
    /** Deletes webhook and deploy key at the host, with the caller's token. */
    async disconnect(hook: HostHook, userId: number): Promise<void> {
      if (hook.tokenId === null)
        throw new Fault("conflict", "The token that created it was deleted; delete the webhook at the host.");
      const token = await tokens.openFor(userId, hook.tokenId);
      const api = hostApis[hook.kind];
      await removeAt(token, api.deleteHook(hook.path, hook.hookId));
      if (hook.keyId !== null) await removeAt(token, api.deleteKey(hook.path, hook.keyId));
      await store.hostHooks.delete(hook.projectId);
    },
  };
}
export type HostHooks = ReturnType<typeof buildHostHooks>;

/** The repository, if the token belongs to its server: a token must not be sent to another one. */
function placeFor({ git }: Project, { origin }: OpenedToken): RepositoryPlace {
  const place = repositoryPlaceOf(git.url);
  const isSsh = !/^https?:/i.test(git.url);
  const isSame =
    place !== null &&
    (place.origin === origin || (isSsh && new URL(place.origin).hostname === new URL(origin).hostname));
  if (place !== null && isSame && place.path !== "") return place;
  const message = `belongs to ${origin}, but the repository is at ${place?.origin ?? "no known server"}`;
  throw new Fault("invalid", `The token ${message}.`, { fields: [{ field: "tokenId", message }] });
}
