import type { Answer } from "./api-server.ts";

/**
 * The expected callers of each endpoint of the management API, independent of the code that decides. An endpoint that
 * is missing here fails test/api/permissions.test.ts. A scope after the comma is what an API token needs where it is not the usual one (read for GET, admin for
 * "admin", write for the rest).
 */
export const apiAccess: Record<string, string> = {
  "POST /api/auth/login": "anonymous",
  "POST /api/auth/logout": "session",
  "GET /api/auth/me": "signed-in",
  "PATCH /api/auth/me": "session",
  "POST /api/auth/password": "session",
  "GET /api/auth/sessions": "session",
  "DELETE /api/auth/sessions/{id}": "session",
  "GET /api/auth/providers": "anonymous",
  "POST /api/auth/providers/{name}/begin": "anonymous",
  "POST /api/auth/providers/{name}/finish": "anonymous",
  "POST /api/auth/providers/{name}/logout": "anonymous",
  "POST /api/auth/link": "anonymous",
  "GET /api/auth/identities": "session",
  "DELETE /api/auth/identities/{id}": "session",
  "GET /api/users": "admin",
  "POST /api/users": "admin",
  "GET /api/users/{id}": "admin",
  "GET /api/users/by-name/{username}": "manager",
  "PATCH /api/users/{id}": "admin",
  "DELETE /api/users/{id}": "admin",
  "DELETE /api/users/{id}/sessions": "admin",
  "GET /api/users/{id}/identities": "admin",
  "DELETE /api/users/{id}/identities/{identityId}": "admin",
  "GET /api/groups": "signed-in",
  "POST /api/groups": "admin",
  "GET /api/groups/{id}": "group view",
  "PATCH /api/groups/{id}": "group manage",
  "DELETE /api/groups/{id}": "admin",
  "GET /api/groups/{id}/members": "group view",
  "PUT /api/groups/{id}/members/{userId}": "group manage",
  "DELETE /api/groups/{id}/members/{userId}": "group manage",
  "PUT /api/groups/{id}/secrets/{name}": "group manage",
  "PATCH /api/groups/{id}/secrets/{name}": "group manage",
  "DELETE /api/groups/{id}/secrets/{name}": "group manage",
  "GET /api/projects": "signed-in",
  "POST /api/projects": "signed-in",
  "GET /api/projects/{id}": "project view",
  "PATCH /api/projects/{id}": "project manage",
  "DELETE /api/projects/{id}": "project manage",
  "GET /api/projects/{id}/services": "project view",
  "POST /api/projects/{id}/services/{name}/start": "project manage",
  "POST /api/projects/{id}/services/{name}/stop": "project manage",
  "POST /api/projects/{id}/services/{name}/restart": "project manage",
  "GET /api/projects/{id}/services/{name}/output": "project view",
  "GET /api/projects/{id}/services/{name}/requests": "project view",
  "GET /api/projects/{id}/routes": "project view",
  "POST /api/projects/{id}/exec": "project manage",
  "POST /api/projects/{id}/pipeline/check": "project view",
  "POST /api/repositories/inspect": "signed-in",
  "GET /api/host-tokens": "session",
  "POST /api/host-tokens": "session",
  "DELETE /api/host-tokens/{id}": "session",
  "GET /api/host-tokens/{id}/repositories": "session",
  "GET /api/projects/{id}/host-hook": "project view",
  "POST /api/projects/{id}/host-hook": "project manage",
  "POST /api/projects/{id}/host-hook/check": "project manage",
  "DELETE /api/projects/{id}/host-hook": "project manage",
  "GET /api/projects/{id}/access": "project view",
  "GET /api/projects/{id}/members": "project view",
  "PUT /api/projects/{id}/members/{userId}": "project manage",
  "DELETE /api/projects/{id}/members/{userId}": "project manage",
  "GET /api/projects/{id}/environments": "project view",
  "GET /api/projects/{id}/inherited": "project view",
  "PUT /api/projects/{id}/secrets/{name}": "project manage",
  "PATCH /api/projects/{id}/secrets/{name}": "project manage",
  "DELETE /api/projects/{id}/secrets/{name}": "project manage",
  "PUT /api/projects/{id}/credential": "project manage",
  "DELETE /api/projects/{id}/credential": "project manage",
  "GET /api/projects/{id}/keys": "project view",
  "PUT /api/projects/{id}/keys/{kind}": "project manage",
  "DELETE /api/projects/{id}/keys/{kind}": "project manage",
  "GET /api/projects/{id}/notification-attempts": "project manage",
  "POST /api/projects/{id}/notify/{targetId}/test": "project manage",
  "GET /api/system": "admin",
  "POST /api/system/backup": "admin",
  "GET /api/system/licences": "admin",
  "GET /api/default-notify": "signed-in",
  "PUT /api/default-notify": "admin",
  "DELETE /api/default-notify": "admin",
  "POST /api/default-notify/test": "admin",
  "GET /api/projects/{id}/commit-status": "project view",
  "GET /api/projects/{id}/webhook": "project view",
  "PUT /api/projects/{id}/webhook": "project manage",
  "POST /api/projects/{id}/webhook/generate-secret": "project manage",
  "POST /api/projects/{id}/webhook/reset-key": "project manage",
  "POST /api/projects/{id}/webhook/test": "project manage",
  "POST /api/projects/{id}/webhook/what-if": "project view, read",
  "GET /api/webhooks/deliveries": "signed-in",
  "GET /api/webhooks/deliveries/{id}": "project view",
  "GET /api/webhooks/stats": "signed-in",
  "GET /api/webhooks/unsigned": "signed-in",
  "POST /api/webhooks/deliveries/{id}/replay": "admin",
  "POST /api/webhooks/deliveries/replay": "admin",
  "POST /api/samples": "admin",
  "POST /api/samples/{id}/push": "project manage",
  "DELETE /api/samples/{id}": "project manage",
  "POST /api/projects/{id}/tasks": "project manage",
  "GET /api/tasks": "signed-in",
  "GET /api/tasks/{id}": "project view",
  "GET /api/tasks/{id}/log": "project view",
  "GET /api/tasks/{id}/output": "project view",
  "GET /api/tasks/{id}/changes": "project view",
  "GET /api/projects/{id}/promotion": "project view",
  "POST /api/projects/{id}/promote": "project manage",
  "GET /api/projects/{id}/releases": "project view",
  "GET /api/projects/{id}/releases/{taskId}/settings": "project view",
  "POST /api/projects/{id}/rollback": "project manage",
  "POST /api/projects/{id}/move": "project manage",
  "POST /api/tasks/{id}/cancel": "project manage",
  "POST /api/tasks/{id}/rerun": "project manage",
  "POST /api/tasks/{id}/approve": "project manage",
  "POST /api/tasks/{id}/reject": "project manage",
  "GET /api/project-tasks": "signed-in",
  "GET /api/activity": "signed-in",
  "GET /api/home": "signed-in",
  "GET /api/overview": "signed-in",
  "GET /api/project-names": "signed-in",
  "GET /api/notices": "signed-in",
  "GET /api/search": "signed-in",
  "POST /api/push/codes": "signed-in",
  "GET /api/push/verify": "anonymous",
  "POST /api/push/verify": "anonymous",
  "POST /api/push/publish": "admin, publish",
  "POST /api/push/disconnect": "admin",
  "GET /api/push/connections": "admin",
  "GET /api/push/messages": "admin",
  "GET /api/push/history": "admin",
  "GET /api/push/online": "admin",
  "GET /api/tokens": "signed-in",
  "POST /api/tokens": "signed-in, admin",
  "DELETE /api/tokens/{id}": "signed-in, admin",
  "GET /api/runners": "admin",
  "POST /api/runners": "admin",
  "GET /api/runners/isolation": "admin",
  "GET /api/runners/{id}": "admin",
  "PATCH /api/runners/{id}": "admin",
  "POST /api/runners/{id}/reset-token": "admin",
  "DELETE /api/runners/{id}": "admin",
  "GET /api/audit": "admin",
};

/** The account of a caller, its permissions for its own project and group, and the scope of its token. */
export interface Held {
  account: "none" | "user" | "admin";
  project: string;
  group: string;
  scope?: string;
}

export type Outcome = "allowed" | "401" | "403" | "404";
/** Only admins have permissions for foreign projects and groups. */
export type Side = "own" | "foreign";

/** Checks the credential first, then the kind of caller, the scope, and the permission. */
export function expectedOutcome(held: Held, method: string, expectation: string, side: Side): Outcome {
  const [access = "", scope = access === "admin" ? "admin" : method === "GET" ? "read" : "write"] =
    expectation.split(", ");
  const isAdmin = held.account === "admin";
  if (access === "anonymous") return "allowed";
  if (held.account === "none") return "401";
  if (access === "session" && held.scope) return "403";
  if (access === "admin" && !isAdmin) return "403";
  if (access === "manager" && ![held.project, held.group].includes("manage")) return "403";
  if (held.scope && !covers(held.scope, scope)) return "403";
  const [noun, needed] = access.split(" ");
  if (noun !== "project" && noun !== "group") return "allowed";
  const permission = side === "own" || isAdmin ? held[noun] : "";
  if (permission === "") return "404";
  return permission === needed || permission === "manage" ? "allowed" : "403";
}

function covers(held: string, needed: string): boolean {
  return held === "admin" || held === needed || (held === "write" && needed === "read");
}

/** Input is validated after the permission: a validation error, or a missing item inside, means that the caller is allowed. */
export function outcomeOf({ status, text }: Pick<Answer, "status" | "text">): Outcome {
  if (status === 401) return "401";
  if (status === 403) return "403";
  if (status === 404 && text.includes("that you may see")) return "404";
  if (status >= 500) throw new Error(`answered ${status}: ${text}`);
  return "allowed";
}
