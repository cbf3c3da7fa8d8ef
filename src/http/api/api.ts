/**
 * The management API: one small app per noun, mounted here under /api.
 *
 * To add a noun: write `things.ts` with `route("get", "/things", { …, access })` for each endpoint and `thingsApi(deps)` that chains
 * `newApi().openapi(route, handler)…`, mount it below, and add its expectations to test/support/endpoint-access.ts, which
 * fails until you do. Schemas come from scalars.ts and shape.ts (`strict`, `jsonBody`, `pageQuery`, `listOf`): they validate and
 * document at once. Paths are written `/projects/{id}/things`, without /api. A body's schema is `strict({…})`.
 *
 * To require a permission: `access: "signed-in" | "session" | "manager" | "admin" | "anonymous" | { project: "view" }
 * | { project: "manage" } | { group: … }`; the last three use the path parameter `id` and provide the project as
 * `projectOf(c)`. If the project must be looked up first: `access: "signed-in"` and then
 * `c.var.permissions.authorizeProject(callerOf(c), "manage", projectId)`. Lists filter by
 * `c.var.permissions.visibleProjectIds(callerOf(c))` (undefined: all). The rules themselves are account/permissions.ts.
 *
 * To audit a change: `await audited(c, { action: "thing.create", subject: "thing x", detail }).things.create(…)` stores both
 * in one transaction; an operation gets `auditEntry(c, …)` as data. `await audit(c, …)` is for what is not a change of the
 * database alone. `detail` must not contain a secret.
 *
 * To refuse: throw a Fault (errors.ts has the status). Anything else thrown is answered 500 without its text.
 */
import type { Passwords } from "../../account/password.ts";
import type { SignIn } from "../../account/sign-in.ts";
import type { GitUrlRules } from "../../model/git/git-url.ts";
import type { Samples } from "../../sample/sample.ts";
import type { Secrets } from "../../secrets.ts";
import type { HostCallLimit } from "../../set-up/host-call-limit.ts";
import type { HostHooks } from "../../set-up/host-hooks.ts";
import type { HostTokens } from "../../set-up/host-tokens.ts";
import type { Inspections } from "../../set-up/inspect.ts";
import type { Approvals } from "../../task/approval/approvals.ts";
import type { ManualTasks } from "../../task/manual-tasks.ts";
import type { TestMessages } from "../../task/notify/test-message.ts";
import type { WebhookManagement } from "../../webhook/management.ts";
import type { Poller } from "../../webhook/poll/poller.ts";
import type { Replays } from "../../webhook/replay.ts";
import type { TestDeliveries } from "../../webhook/test-delivery.ts";
import { auditApi } from "./audit.ts";
import { authApi } from "./auth.ts";
import { compressed } from "./compressed.ts";
import { deliveriesApi } from "./deliveries.ts";
import { groupsApi } from "./groups.ts";
import { hostHooksApi } from "./host-hooks.ts";
import { hostTokensApi } from "./host-tokens.ts";
import { membersApi } from "./members.ts";
import { noticesApi } from "./notices.ts";
import { notificationsApi } from "./notifications.ts";
import { describeApi } from "./openapi.ts";
import { overviewApi } from "./overview.ts";
import { projectNamesApi } from "./project-names.ts";
import { projectSecretsApi } from "./project-secrets.ts";
import { projectTasksApi } from "./project-tasks.ts";
import { projectsApi } from "./projects.ts";
import { type PushDeps, pushApi } from "./push.ts";
import { releasesApi } from "./releases.ts";
import { replaysApi } from "./replays.ts";
import { repositoriesApi } from "./repositories.ts";
import { answerFaults, prepareRequests, type RequestDeps } from "./request.ts";
import { newApi } from "./route.ts";
import { runnersApi } from "./runners.ts";
import { samplesApi } from "./samples.ts";
import { searchApi } from "./search.ts";
import { tasksApi } from "./tasks.ts";
import { tokensApi } from "./tokens.ts";
import { unsignedWebhooksApi } from "./unsigned-webhooks.ts";
import { usersApi } from "./users.ts";
import { webhookApi } from "./webhook.ts";

export interface ApiDeps extends RequestDeps {
  secrets: Secrets;
  passwords: Passwords;
  signIn: SignIn;
  gitUrlRules: GitUrlRules;
  manualTasks: ManualTasks;
  approvals: Approvals;
  testMessages: TestMessages;
  /** The setting runner.labels, which the local runner is registered with. */
  localRunnerLabels: string[];
  taskRetentionDays: number;
  webhook: {
    management: WebhookManagement;
    tests: TestDeliveries;
    replays: Replays;
    samples: Samples;
    debounceSeconds: number;
    pollStateOf: Poller["stateOf"];
    pollNow: Poller["pollNow"];
  };
  setUp: { inspections: Inspections; tokens: HostTokens; hooks: HostHooks; calls: HostCallLimit };
  push: PushDeps;
}

/** The type of the whole API, for the console's client: `hc<Api>(origin)`. */
export type Api = ReturnType<typeof buildApi>;

export function buildApi(deps: ApiDeps) {
  const app = newApi();
  answerFaults(app, deps.log);
  app.use("*", prepareRequests(deps));
  for (const path of ["overview", "search", "project-names", "tasks", "tasks/:id/log"])
    app.get(`/api/${path}`, compressed);
  const { store, secrets, passwords, signIn, ownOrigins, gitUrlRules, webhook, push, clock } = deps;
  const api = app
    .route("/api", authApi({ keepers: store, signIn, ownOrigins }))
    .route("/api", usersApi({ store, passwords, clock }))
    .route("/api", groupsApi({ store, clock }))
    .route("/api", membersApi("group", store))
    .route(
      "/api",
      projectsApi({
        store,
        secrets,
        clock,
        gitUrlRules,
        samples: webhook.samples,
        webhooks: webhook.management,
      }),
    )
    .route("/api", membersApi("project", store))
    .route("/api", projectSecretsApi({ store, secrets, pollNow: webhook.pollNow }))
    .route("/api", notificationsApi({ keepers: store, testMessages: deps.testMessages }))
    .route("/api", webhookApi({ keepers: store, secrets, clock, ...webhook }))
    .route("/api", unsignedWebhooksApi(store))
    .route("/api", deliveriesApi({ keepers: store, clock }))
    .route("/api", replaysApi({ deliveries: store.deliveries, replays: webhook.replays }))
    .route("/api", samplesApi(webhook.samples))
    .route("/api", repositoriesApi(deps.setUp))
    .route("/api", hostTokensApi(deps.setUp))
    .route("/api", hostHooksApi(deps.setUp))
    .route(
      "/api",
      tasksApi({
        store,
        manualTasks: deps.manualTasks,
        approvals: deps.approvals,
        retentionDays: deps.taskRetentionDays,
      }),
    )
    .route("/api", releasesApi({ store, manualTasks: deps.manualTasks }))
    .route("/api", projectTasksApi(store))
    .route("/api", overviewApi({ keepers: store, history: push.history, clock }))
    .route("/api", noticesApi(store))
    .route("/api", searchApi(store))
    .route("/api", projectNamesApi(store))
    .route("/api", pushApi(push))
    .route("/api", tokensApi({ store, clock }))
    .route("/api", runnersApi({ store, localLabels: deps.localRunnerLabels, clock }))
    .route("/api", auditApi(store));
  describeApi(api);
  return api;
}
