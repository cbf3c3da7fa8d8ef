/**
 * The calls of an API client: their responses were recorded and must still parse. The steps remove what they make, so that they can run once for the recording and again for each test. `{name}` in a path
 * is the id in an earlier answer that was saved under this name.
 */
export interface ClientStep {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  save?: string;
}

const reads: ClientStep[] = [
  "/api/auth/me",
  "/api/auth/sessions",
  "/api/users?pageSize=200",
  "/api/users/{user}",
  "/api/users/by-name/ann",
  "/api/groups",
  "/api/groups/{group}",
  "/api/groups/{group}/members",
  "/api/projects?pageSize=200",
  "/api/projects/{project}",
  "/api/projects/{project}/members",
  "/api/projects/{project}/keys",
  "/api/projects/{project}/webhook",
  "/api/project-tasks?projectIds={project}",
  "/api/tasks?pageSize=200",
  "/api/tasks?state=queued",
  "/api/tasks/{task}",
  "/api/tasks/{task}/log",
  "/api/webhooks/deliveries?pageSize=200",
  "/api/webhooks/deliveries?status=rejected",
  "/api/webhooks/deliveries/{delivery}",
  "/api/webhooks/stats",
  "/api/tokens?pageSize=200",
  "/api/runners",
  "/api/runners/{runner}",
  "/api/audit?pageSize=200",
  "/api/push/connections",
  "/api/push/online",
  "/api/tasks/999999",
].map((path) => ({ method: "GET", path }));

const changes: ClientStep[] = [
  {
    method: "POST",
    path: "/api/users",
    body: { username: "carol", password: "a password of carol" },
    save: "newUser",
  },
  { method: "PATCH", path: "/api/users/{newUser}", body: { role: "admin" } },
  { method: "DELETE", path: "/api/users/{newUser}" },
  { method: "POST", path: "/api/groups", body: { name: "temporary" }, save: "newGroup" },
  { method: "PUT", path: "/api/groups/{newGroup}/members/{user}", body: { permission: "view" } },
  {
    method: "POST",
    path: "/api/projects",
    body: {
      name: "made by the client",
      groupId: null,
      git: { url: "https://git.example.com/client.git", ref: "main", submodules: false },
      stages: { build: { script: "make", timeout: 600 }, deploy: { script: "make deploy" } },
      env: { MODE: "test" },
      notify: [{ url: "https://chat.example.com/hook", events: ["task.failed"] }],
      labels: [],
      supersede: "queued",
    },
    save: "newProject",
  },
  { method: "PATCH", path: "/api/projects/{newProject}", body: { env: { MODE: "live" } } },
  {
    method: "PUT",
    path: "/api/projects/{newProject}/credential",
    body: { type: "token", username: "git", token: "t" },
  },
  { method: "PUT", path: "/api/projects/{newProject}/secrets/KEY", body: { value: "a secret value" } },
  { method: "PUT", path: "/api/projects/{newProject}/keys/status-token", body: { value: "a token" } },
  { method: "PUT", path: "/api/projects/{newProject}/members/{user}", body: { permission: "manage" } },
  {
    method: "PUT",
    path: "/api/projects/{newProject}/webhook",
    body: { enabled: true, provider: "github", secret: "a webhook secret" },
  },
  {
    method: "POST",
    path: "/api/projects/{newProject}/webhook/test",
    body: { event: "push", ref: "refs/heads/main", dryRun: true },
  },
  { method: "POST", path: "/api/projects/{newProject}/webhook/what-if", body: {} },
  { method: "POST", path: "/api/projects/{newProject}/webhook/reset-key" },
  { method: "POST", path: "/api/projects/{newProject}/tasks", body: { ref: "main" }, save: "newTask" },
  { method: "POST", path: "/api/tasks/{newTask}/cancel" },
  { method: "POST", path: "/api/tasks/{newTask}/rerun", save: "rerun" },
  { method: "POST", path: "/api/tasks/{rerun}/cancel" },
  { method: "DELETE", path: "/api/projects/{newProject}/secrets/KEY" },
  { method: "DELETE", path: "/api/projects/{newProject}" },
  { method: "DELETE", path: "/api/groups/{newGroup}" },
  {
    method: "POST",
    path: "/api/tokens",
    body: { name: "temporary", scopes: ["read", "publish"] },
    save: "newToken",
  },
  { method: "DELETE", path: "/api/tokens/{newToken}" },
  { method: "POST", path: "/api/runners", body: { name: "temporary", labels: ["linux"] }, save: "newRunner" },
  { method: "POST", path: "/api/runners/{newRunner}/reset-token" },
  { method: "PATCH", path: "/api/runners/{newRunner}", body: { disabled: true } },
  { method: "DELETE", path: "/api/runners/{newRunner}" },
  { method: "POST", path: "/api/push/codes", body: {} },
  { method: "POST", path: "/api/push/publish", body: { targetType: "all", data: "hello" } },
  { method: "POST", path: "/api/push/disconnect", body: { userId: "nobody" } },
  {
    method: "POST",
    path: "/api/webhooks/deliveries/replay",
    body: { preview: true, filter: { status: "accepted" } },
  },
  { method: "POST", path: "/api/projects", body: { name: "" } },
];

export const clientSteps: ClientStep[] = [...changes, ...reads];

export interface ClientAnswer {
  step: ClientStep;
  status: number;
  body: unknown;
}

/** Runs the steps; `ids` holds what paths name from the start. */
export async function runClientSteps(
  url: string,
  token: string,
  ids: Record<string, number>,
): Promise<ClientAnswer[]> {
  const known = { ...ids };
  const answers: ClientAnswer[] = [];
  for (const step of clientSteps) {
    const path = step.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(known[name]));
    const response = await fetch(url + path, {
      method: step.method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(step.body === undefined ? {} : { body: JSON.stringify(step.body) }),
    });
    const text = await response.text();
    const body: unknown = text === "" ? null : JSON.parse(text);
    if (step.save !== undefined) known[step.save] = (body as { id: number }).id;
    answers.push({ step, status: response.status, body });
  }
  return answers;
}
