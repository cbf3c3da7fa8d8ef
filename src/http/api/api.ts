/**
 * The management API: one small app per noun, mounted here under /api.
 *
 * To add a noun: write `things.ts` with `route("get", "/things", { …, access })` for each endpoint and `thingsApi(deps)` that chains
 * `newApi().openapi(route, handler)…`, mount it below, and add its expectations to test/support/endpoint-access.ts, which
 * fails until you do. Schemas come from scalars.ts and shape.ts (`strict`, `pageQuery`, `listOf`): they validate and document at
 * once. Paths are written `/projects/{id}/things`, without /api. A body's schema is `strict({…})`; `ok: tagged(…)` gives the
 * resource a revision, and makes its changes conditional.
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
import { activityApi } from "./activity.ts";
import { auditApi } from "./audit.ts";
import { authApi } from "./auth.ts";
import { compressed } from "./compressed.ts";
import { defaultNotifyApi } from "./default-notify.ts";
import { deliveriesApi } from "./deliveries.ts";
import type { ApiDeps } from "./deps.ts";
import { environmentsApi } from "./environments.ts";
import { groupSecretsApi } from "./group-secrets.ts";
import { groupsApi } from "./groups.ts";
import { homeApi } from "./home.ts";
import { hostHooksApi } from "./host-hooks.ts";
import { hostTokensApi } from "./host-tokens.ts";
import { identitiesApi } from "./identities.ts";
import { accessApi, membersApi } from "./members.ts";
import { noticesApi } from "./notices.ts";
import { notificationsApi } from "./notifications.ts";
import { describeApi } from "./openapi.ts";
import { overviewApi } from "./overview.ts";
import { pipelineChecksApi } from "./pipeline-checks.ts";
import { projectInheritedApi } from "./project-inherited.ts";
import { projectNamesApi } from "./project-names.ts";
import { projectSecretsApi } from "./project-secrets.ts";
import { projectTasksApi } from "./project-tasks.ts";
import { projectsApi } from "./projects.ts";
import { pushApi } from "./push.ts";
import { releasesApi } from "./releases.ts";
import { replaysApi } from "./replays.ts";
import { repositoriesApi } from "./repositories.ts";
import { answerFaults, prepareRequests } from "./request.ts";
import { newApi } from "./route.ts";
import { runnersApi } from "./runners.ts";
import { samplesApi } from "./samples.ts";
import { searchApi } from "./search.ts";
import { serviceRoutesApi } from "./service-routes.ts";
import { servicesApi } from "./services.ts";
import { signInApi } from "./sign-in.ts";
import { systemApi } from "./system.ts";
import { tasksApi } from "./tasks.ts";
import { tokensApi } from "./tokens.ts";
import { usersApi } from "./users.ts";
import { webhookApi } from "./webhook.ts";

/** The type of the whole API, for the console's client: `hc<Api>(origin)`. */
export type Api = ReturnType<typeof buildApi>;

export function buildApi(deps: ApiDeps) {
  const app = newApi();
  answerFaults(app, deps.log);
  app.use("*", prepareRequests(deps));
  for (const path of ["activity", "home", "overview", "search", "project-names", "tasks", "tasks/:id/log"])
    app.get(`/api/${path}`, compressed);
  const api = app
    .route("/api", authApi(deps))
    .route("/api", signInApi(deps))
    .route("/api", identitiesApi(deps))
    .route("/api", usersApi(deps))
    .route("/api", groupsApi(deps))
    .route("/api", groupSecretsApi(deps))
    .route("/api", membersApi("group", deps))
    .route("/api", projectsApi(deps))
    .route("/api", pipelineChecksApi(deps))
    .route("/api", membersApi("project", deps))
    .route("/api", accessApi(deps))
    .route("/api", projectSecretsApi(deps))
    .route("/api", projectInheritedApi(deps))
    .route("/api", notificationsApi(deps))
    .route("/api", defaultNotifyApi(deps))
    .route("/api", webhookApi(deps))
    .route("/api", deliveriesApi(deps))
    .route("/api", replaysApi(deps))
    .route("/api", samplesApi(deps))
    .route("/api", repositoriesApi(deps))
    .route("/api", hostTokensApi(deps))
    .route("/api", hostHooksApi(deps))
    .route("/api", tasksApi(deps))
    .route("/api", releasesApi(deps))
    .route("/api", environmentsApi(deps))
    .route("/api", servicesApi(deps))
    .route("/api", serviceRoutesApi(deps))
    .route("/api", projectTasksApi(deps))
    .route("/api", activityApi(deps))
    .route("/api", homeApi(deps))
    .route("/api", overviewApi(deps))
    .route("/api", noticesApi(deps))
    .route("/api", searchApi(deps))
    .route("/api", projectNamesApi(deps))
    .route("/api", pushApi(deps))
    .route("/api", tokensApi(deps))
    .route("/api", runnersApi(deps))
    .route("/api", auditApi(deps))
    .route("/api", systemApi(deps));
  describeApi(api);
  return api;
}
