import type { Clock } from "../../clock.ts";
import { Fault, type FaultCode, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Identity } from "../../model/account/identity.ts";
import type { NewAuditEntry } from "../../model/audit.ts";
import { sealedPurpose } from "../../model/sealed.ts";
import { operation, type Store } from "../../model/store.ts";
import type { Session } from "../../model/user.ts";
import { renderReason } from "../../reason/reason.ts";
import type { Secrets } from "../../secrets.ts";
import type { ConsoleAccess } from "../console-access.ts";
import { type Roles, refuseOutsider, rolesOf } from "./admission.ts";
import { applyRoles, runWithRoles } from "./open-provider-session.ts";
import type { Grant } from "./person.ts";
import type { ProviderSignIn } from "./provider-sign-in.ts";
import { refuseAccount } from "./refuse-account.ts";

export interface SessionRefreshOptions {
  store: Store;
  secrets: Secrets;
  clock: Clock;
  log: Logger;
  providers: Pick<ProviderSignIn, "clientOf" | "isConfigured">;
  consoleAccess: Pick<ConsoleAccess, "sessionEnded" | "permissionsChanged">;
  refreshMs: number;
}

/** A provider that is away is asked again after this time, until the session ends by itself. */
const retryMs = 5 * 60_000;
const longestPauseMs = 30_000;
const batch = 20;
const refusals = new Set<FaultCode>(["unauthenticated", "forbidden", "not_found"]);

/** Asks providers whether the people who signed in with them may stay. */
export function buildSessionRefresh(options: SessionRefreshOptions) {
  const { store, secrets, clock, log, providers, consoleAccess, refreshMs } = options;
  let timer: ReturnType<typeof setInterval> | undefined;
  let running: Promise<void> | null = null;
  let isClosed = false;

  const entryOf = ({ userId }: Session, username: string): NewAuditEntry => ({
    ...{ at: new Date(clock.now()), userId, username, action: "auth.end-session", projectId: null },
    ...{ subject: `user ${username}`, detail: {}, remoteIp: "" },
  });

  /** Ends what the provider refuses; throws what is no refusal. */
  async function end(session: Session, identity: Identity, username: string, error: unknown): Promise<void> {
    if (!(error instanceof Fault) || !refusals.has(error.code)) throw error;
    const { code } = error;
    const reason = renderReason(error.reason);
    // A provider that the settings no longer name decides no roles.
    const rules = code === "not_found" ? { roles: [] } : providers.clientOf(identity.provider).provider;
    await runWithRoles(store, refuseAccount, {
      account: identity,
      session: code === "forbidden" ? null : session.id,
      roles: rolesOf(rules, []),
      audited: { ...entryOf(session, username), detail: { reason } },
    });
    consoleAccess.sessionEnded(session.userId);
    log.info({ user: username, reason }, "a session has ended because its provider no longer confirms it");
  }

  async function refresh(session: Session): Promise<void> {
    const identity = await store.identities.byId(session.identityId ?? 0);
    const user = await store.users.byId(session.userId);
    if (identity === null || user === null || session.providerGrant === null) return;
    const { username } = user;
    try {
      const renewed = renew(session, identity, session.providerGrant, username);
      await renewed.catch((error: unknown) => end(session, identity, username, error));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const reason = renderReason(error.reason);
      log.warn({ provider: identity.provider, reason }, "a provider could not be asked about a session");
    }
  }

  async function renew(
    session: Session,
    identity: Identity,
    sealed: string,
    username: string,
  ): Promise<void> {
    const client = providers.clientOf(identity.provider);
    const purpose = sealedPurpose.providerGrant(session.tokenHash);
    const earlier = JSON.parse(secrets.open(purpose, sealed)) as Grant;
    const { person, grant } = await client.renew(earlier, identity.subject);
    if (person !== null) refuseOutsider(client.provider, person);
    const roles = person && rolesOf(client.provider, person.groups ?? []);
    const input: Renewed = {
      session: session.id,
      providerGrant: secrets.seal(purpose, JSON.stringify(grant)),
      refreshAt: new Date(clock.now() + refreshMs),
      identity: identity.id,
      used: { provider: identity.provider, login: (person?.login ?? identity.login).slice(0, 200) },
      roles,
      audited: entryOf(session, username),
    };
    if (await runWithRoles(store, renewSession, input)) consoleAccess.permissionsChanged([session.userId]);
  }

  async function round(): Promise<void> {
    try {
      for (let taken = batch; taken === batch && !isClosed; ) {
        const now = clock.now();
        const due = await store.sessions.takeDue(new Date(now), new Date(now + retryMs), batch);
        for (const session of due) await refresh(session);
        taken = due.length;
      }
    } catch (error) {
      log.warn({ error: messageOf(error) }, "sessions could not be refreshed; the next round tries again");
    }
    running = null;
  }

  return {
    start(): void {
      if (!providers.isConfigured) return;
      timer = setInterval(
        () => {
          running ??= round();
        },
        Math.min(longestPauseMs, refreshMs / 20),
      );
    },
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}

interface Renewed {
  session: number;
  providerGrant: string;
  refreshAt: Date;
  identity: number;
  used: Pick<Identity, "provider" | "login">;
  /** Null: the provider said nothing new. */
  roles: Roles | null;
  audited: NewAuditEntry;
}

/** Whether the person's access has changed. A session that has ended meanwhile stays ended. */
export const renewSession = operation(
  "renewSession",
  async (
    keepers,
    { session, providerGrant, refreshAt, identity, used, roles, audited }: Renewed,
  ): Promise<boolean> => {
    if (!(await keepers.sessions.setGrant(session, { providerGrant, refreshAt }))) return false;
    const known = await keepers.identities.update(identity, { ...used, lastUsedAt: keepers.now() });
    const held = known && (await keepers.users.hold(known.userId));
    if (!held || roles === null) return false;
    const { passwordHash: _, ...user } = held;
    return (await applyRoles(keepers, user, roles, audited)).isAccessChanged;
  },
);
