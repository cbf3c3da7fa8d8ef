import type { Credentials } from "../account/credential.ts";
import { ensureFirstAdmin } from "../account/first-admin.ts";
import { buildPasswords } from "../account/password.ts";
import { buildPermissions } from "../account/permissions.ts";
import { buildProviderSignIn } from "../account/provider/provider-sign-in.ts";
import { buildSessionRefresh } from "../account/provider/refresh-sessions.ts";
import { buildSignIn } from "../account/sign-in.ts";
import type { ApiDeps, PushDeps } from "../http/api/deps.ts";
import { networksOf } from "../http/client-address.ts";
import { withAddress } from "../http/request-address.ts";
import type { Handler } from "../http/server.ts";
import type { Store } from "../model/store.ts";
import type { Reason } from "../reason/reason.ts";
import type { Secrets } from "../secrets.ts";
import type { AppContext } from "./app-context.ts";
import type { SetUpPart } from "./set-up/set-up-part.ts";
import { buildBackupNow } from "./system/backup-now.ts";
import { buildSystemState, type SystemGateway } from "./system/system-state.ts";
import { gitUrlRulesOf, type TaskPart } from "./task-part.ts";
import type { WebhookPart } from "./webhook-part.ts";

export interface ApiPartOptions {
  store: Store;
  secrets: Secrets;
  credentials: Credentials;
  webhook: WebhookPart;
  tasks: TaskPart;
  setUp: SetUpPart;
  push: PushDeps;
  /** Null: the push gateway is in another process. */
  gateway: SystemGateway | null;
  localRunnerEnd: ApiDeps["localRunnerEnd"];
  /** Warnings of the start that the system page shows. */
  warnings: readonly Reason[];
  consoleUrl: () => string;
}

/** Accounts and the management API over them. */
export function buildApiPart(context: AppContext, options: ApiPartOptions) {
  const { store, secrets, credentials, webhook, tasks, setUp, push, gateway, warnings } = options;
  const { config, log, metrics, clock } = context;
  const baseUrl = config["server.baseUrl"];
  const passwords = buildPasswords();
  const sessionMs = config["auth.sessionHours"] * 3_600_000;
  const attempts = store.isShared ? store.attempts : null;
  const local = config["auth.local"];
  const signIn = buildSignIn({ store, attempts, passwords, clock, metrics, sessionMs, local });
  const refreshMs = config["auth.refreshInterval"];
  const { consoleAccess } = push;
  const providers = buildProviderSignIn({
    ...{ providers: config["auth.providers"], consoleUrl: options.consoleUrl, consoleAccess },
    ...{ store, secrets, passwords, signIn, attempts, clock, log, sessionMs, refreshMs },
  });
  const refresh = buildSessionRefresh({ store, secrets, clock, log, providers, consoleAccess, refreshMs });
  const deps: ApiDeps = {
    system: {
      state: buildSystemState(config, store, { gateway, warnings }),
      backUp: buildBackupNow(config, clock),
      packages: async () => (await import("./system/packages-inside.ts")).packagesInside(),
    },
    store,
    secrets,
    passwords,
    credentials,
    permissions: buildPermissions(store),
    signIn,
    providers,
    local,
    gitUrlRules: gitUrlRulesOf(config),
    manualTasks: tasks.manualTasks,
    serviceActions: tasks.serviceActions,
    outputs: tasks.outputs,
    approvals: tasks.approvals,
    testMessages: tasks.testMessages,
    allowInternal: config["tasks.allowInternalNotifications"],
    anyDomain: config["routes.anyDomain"],
    localRunnerLabels: config["runner.labels"],
    localRunnerEnd: options.localRunnerEnd,
    taskRetentionDays: config["tasks.retentionDays"],
    webhook,
    setUp,
    push,
    trustedProxies: networksOf(config["server.trustedProxies"]),
    secureCookie: secureCookieOf(config),
    ownOrigins: baseUrl === undefined ? [] : [new URL(baseUrl).origin],
    clock,
    log,
    metrics,
  };
  let loading: ReturnType<typeof loadApi> | null = null;
  const api = () => {
    loading ??= loadApi(deps);
    return loading;
  };
  return {
    /** Asks providers whether the people who signed in with them may stay. */
    refresh,
    /** Answers `/api/*`, `/docs` and the schema of pipeline files. */
    handle: (async (request, server) => {
      const peerAddress = server.requestIP(request)?.address ?? "";
      const waitLong = () => server.timeout(request, 0);
      return (await api()).fetch(withAddress(request), { peerAddress, waitLong });
    }) satisfies Handler,
    /** Creates the first admin in an empty database; returns a line for the start text if the password was generated. */
    async createFirstAdmin(): Promise<string[]> {
      const chosen = process.env.SLIPWAY_ADMIN_PASSWORD || undefined;
      const password = (await ensureFirstAdmin(store, passwords, clock, chosen))?.generatedPassword;
      return password ? [`sign in as admin with the password ${password} (shown this once)`] : [];
    },
  };
}

async function loadApi(deps: ApiDeps) {
  const { buildApi } = await import("../http/api/api.ts");
  return buildApi(deps);
}

/** With an https address the cookie must not be sent over http, even if the proxy does not forward the scheme. */
function secureCookieOf(config: AppContext["config"]): ApiDeps["secureCookie"] {
  if (config["auth.secureCookie"] === "never") return "never";
  const baseUrl = config["server.baseUrl"];
  return baseUrl !== undefined && new URL(baseUrl).protocol === "https:" ? "always" : "by-request";
}
