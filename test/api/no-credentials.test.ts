import { expect, test } from "bun:test";
import { type Answer, type ApiClient, adminPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";

/** Credentials that no text contains by chance. `mark` makes each of them recognisable in whatever form it turns up. */
const mark = "zQ7x";
const planted = {
  wrongPassword: `wrong-password-${mark}`,
  userPassword: `user-password-${mark}`,
  newPassword: `new-password-${mark}`,
  secret: `project-secret-${mark}`,
  gitToken: `git-token-${mark}`,
  privateKey: `-----BEGIN RSA PRIVATE KEY-----\nkey-body-${mark}\n-----END RSA PRIVATE KEY-----`,
  notifyKey: `notify-key-${mark}`,
  targetUrl: `target-url-${mark}-1234`,
  targetSecret: `target-secret-${mark}`,
  urlPassword: `url-password-${mark}`,
  bearer: `slp_made-up-bearer-${mark}`,
  queryCode: `query-code-${mark}`,
  hookSecret: `hook-secret-${mark}`,
  nextHookSecret: `next-hook-secret-${mark}`,
  wrongHookSecret: `wrong-hook-secret-${mark}`,
  payloadPassword: `payload-password-${mark}`,
};

/** All responses except those that show a new token once. */
const answers: string[] = [];
const shownOnce: string[] = [];

const server = await setUpApi();

async function call(
  client: ApiClient,
  method: string,
  path: string,
  body?: unknown,
  headers = {},
): Promise<Answer> {
  const answer = await client.request(method, path, body, headers);
  const token = (answer.body as { token?: unknown } | null)?.token;
  if (typeof token === "string") shownOnce.push(token);
  else answers.push(`${method} ${path.split("?")[0]}: ${JSON.stringify([...answer.headers])} ${answer.text}`);
  return answer;
}

/** Uses every endpoint that takes a credential, with right and wrong values. */
async function useCredentials(): Promise<void> {
  const { admin, anonymous } = server;
  const login = (username: string, password: unknown) =>
    call(anonymous, "POST", "/api/auth/login", { username, password });
  await login("admin", planted.wrongPassword);
  await login(planted.wrongPassword, planted.wrongPassword);
  await login("admin", { nested: planted.wrongPassword });
  await call(anonymous, "POST", "/api/auth/login", `{"password":"${planted.wrongPassword}"`);
  await call(admin, "POST", "/api/users", { username: "carol", password: planted.userPassword });
  const { token } = (await login("carol", planted.userPassword)).body as { token: string };
  const carol = server.as(token);
  const passwords = { oldPassword: planted.wrongPassword, newPassword: planted.newPassword };
  await call(carol, "POST", "/api/auth/password", passwords);
  await call(carol, "POST", "/api/auth/password", { ...passwords, oldPassword: planted.userPassword });
  await call(admin, "PATCH", "/api/users/2", { password: planted.newPassword, extra: planted.newPassword });
  await call(server.as(planted.bearer), "GET", "/api/auth/me");
  await call(anonymous, "GET", `/api/auth/me?code=${planted.queryCode}`);
  await call(anonymous, "GET", "/api/auth/me", undefined, { authorization: `Basic ${planted.bearer}` });
  await call(anonymous, "GET", "/api/auth/me", undefined, { cookie: `slipway_session=${planted.bearer}` });
  await call(admin, "POST", "/api/tokens", { name: "ci", scopes: ["admin"] });
  await call(admin, "POST", "/api/runners", { name: "build-1" });
  await call(admin, "POST", "/api/runners/1/reset-token");
  const git = { url: `https://user:${planted.urlPassword}@git.example.com/x.git` };
  await call(admin, "POST", "/api/projects", { name: "leaky", git });
  await call(admin, "POST", "/api/projects", { name: "shop", git: { url: "https://git.example.com/x.git" } });
  const project = "/api/projects/1";
  await call(admin, "PUT", `${project}/secrets/TOKEN`, { value: planted.secret });
  await call(admin, "PUT", `${project}/secrets/TOKEN`, { vaule: planted.secret });
  await call(admin, "PUT", `${project}/secrets/BAD-NAME`, { value: planted.secret });
  await call(admin, "PUT", `${project}/credential`, { type: "token", token: planted.gitToken });
  await call(admin, "PUT", `${project}/credential`, { type: "ssh", privateKey: planted.privateKey });
  await call(admin, "PUT", `${project}/credential`, { type: "ssh", privateKey: planted.gitToken });
  await call(admin, "PUT", `${project}/keys/notify-key`, { value: planted.notifyKey });
  const target = { format: "dingtalk", url: `https://hooks.example.com/${planted.targetUrl}` };
  const notify = [{ ...target, secret: planted.targetSecret }];
  const changed = await call(admin, "PATCH", project, { notify });
  await call(admin, "PATCH", project, { notify: [{ ...target, format: "telegram" }] });
  await call(admin, "PATCH", project, {
    notify: [{ ...target, format: "wecom", secret: planted.targetSecret }],
  });
  const [{ id }] = (changed.body as { notify: [{ id: string }] }).notify;
  await call(admin, "POST", `${project}/notify/${id}/test`);
  await call(admin, "GET", `${project}/notification-attempts`);
  await useHook(project);
  await usePushCode();
}

/** Issues a code, uses it, and tries to use it again. */
async function usePushCode(): Promise<void> {
  const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {});
  shownOnce.push(code);
  for (const _ of [1, 2]) await call(server.anonymous, "GET", `/api/push/verify?code=${code}`);
  await call(server.anonymous, "POST", "/api/push/verify", { code });
}

/** Sends the secret of a delivery in a header and in the query, and secrets inside payloads. */
async function useHook(project: string): Promise<void> {
  const { admin, anonymous } = server;
  const saved = await call(admin, "PUT", `${project}/webhook`, { enabled: true, secret: planted.hookSecret });
  await call(admin, "PUT", `${project}/webhook`, {
    secret: planted.nextHookSecret,
    secondSecretUntil: "2099-01-01T00:00:00Z",
  });
  const hook = `/api/hooks/git/${(saved.body as { key: string }).key}`;
  const payload = {
    event: "push",
    ref: "refs/heads/main",
    password: planted.payloadPassword,
    x: planted.hookSecret,
  };
  await call(anonymous, "POST", hook, payload, { "x-cicd-token": planted.hookSecret });
  await call(anonymous, "POST", hook, payload, { "x-cicd-token": planted.wrongHookSecret });
  await call(anonymous, "POST", `${hook}?secret=${planted.nextHookSecret}`, payload);
  await call(anonymous, "POST", `${hook}?secret=${planted.wrongHookSecret}`, payload);
  await call(admin, "POST", `${project}/webhook/test`, {
    payload,
    headers: { "x-cicd-token": planted.hookSecret },
  });
}

/** All readable data. */
async function readEverything(): Promise<void> {
  const document = await server.anonymous.expect<{ paths: Record<string, object> }>(
    200,
    "GET",
    "/api/openapi.json",
  );
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!("get" in methods)) continue;
    await call(server.admin, "GET", path.replaceAll(/\{\w+\}/g, "1"));
  }
  for (const path of ["/api/audit?pageSize=200", "/metrics", "/docs", "/readyz"])
    await call(server.admin, "GET", path);
}

test("no credential appears in any log line or API answer", async () => {
  await useCredentials();
  await readEverything();
  expect(shownOnce.length).toBeGreaterThanOrEqual(4);
  for (const outcome of ["accepted", "signature_invalid"])
    expect(answers.join()).toContain(`"code":"${outcome}"`);
  expect(server.logLines.length).toBeGreaterThan(20);
  const lines = [...server.logLines, ...answers];
  expect(lines.filter((line) => line.includes(mark))).toEqual([]);
  const tokens = shownOnce.filter((token) => lines.some((line) => line.includes(token)));
  expect(tokens).toEqual([]);
  expect(lines.filter((line) => line.includes(adminPassword))).toEqual([]);
});

test("the database file contains no credential", async () => {
  const bytes = await Promise.all(
    ["slipway.db", "slipway.db-wal"].map((name) => Bun.file(`${server.dataDir}/${name}`).text()),
  );
  const stored = bytes.join("");
  expect(stored.length).toBeGreaterThan(1000);
  for (const credential of [...Object.values(planted), ...shownOnce, adminPassword])
    expect(stored.includes(credential)).toBe(false);
});
