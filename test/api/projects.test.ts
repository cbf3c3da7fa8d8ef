import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { plainExecution } from "../../src/model/execution.ts";
import { setUpApi } from "../support/api-setup.ts";

const server = await setUpApi();

interface Project {
  id: number;
  git: { url: string; ref: string; credentialSet: boolean };
  secretNames: string[];
}

const git = { url: "https://git.example.com/shop.git" };
let count = 0;
const make = (body: object = {}) =>
  server.admin.expect<Project>(201, "POST", "/api/projects", { name: `shop ${++count}`, git, ...body });

async function fieldsOf(method: string, path: string, body: unknown): Promise<Record<string, string>> {
  const answer = await server.admin.request(method, path, body);
  expect(answer.status).toBe(422);
  const { fields } = (answer.body as { error: { fields: { field: string; message: string }[] } }).error;
  return Object.fromEntries(fields.map(({ field, message }) => [field, message]));
}

describe("a project", () => {
  test("needs only name and git.url; other fields have defaults", async () => {
    const { id } = await make({ name: "bare" });
    const project = await server.admin.expect<Project>(200, "GET", `/api/projects/${id}`);
    const none = { script: "", timeout: null };
    const pipeline = { build: [], deploy: [], start: [], data: [], scratch: [], sealed: true };
    const rules = { previous: "stop-first", settleSeconds: 5, log: "", switch: "" };
    const start = { ...none, ...rules, healthCheck: null };
    expect(project).toEqual({
      id: expect.any(Number),
      name: "bare",
      groupId: null,
      git: { url: git.url, ref: "main", submodules: false, lfs: false, credentialSet: false },
      ...{ stages: { build: none, deploy: none, start }, pipeline },
      ...{ env: {}, secretNames: [], secrets: [], notify: [], labels: [] },
      commitStatus: { context: "slipway/bare", skipped: false },
      ...{
        supersede: "none",
        rollback: "automatic",
        rollbackWithin: 10,
        services: null,
        publicUrl: "",
        allowedDomains: null,
        pipelineFile: null,
        fileRead: null,
        environments: [],
        environment: null,
        parentId: null,
        liveNoteParts: [],
        warningParts: [],
      },
      defaultNotify: true,
      disk: null,
      ...plainExecution,
      limits: { ...plainExecution.limits, diskMb: null },
      ...{ liveTaskId: null, liveNote: "", liveNoteParts: [], homeRunnerId: null, warnings: [] },
      deploy: { approval: "none", branches: [], notByPusher: false, expiresAfterMinutes: 4320 },
      sample: false,
      permission: "manage",
      revision: expect.stringMatching(/^[\w-]{22}$/),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    } as never);
  });

  test("changes field by field: omitted fields are unchanged", async () => {
    const healthCheck = { type: "http", url: "http://127.0.0.1:3000/", timeoutSeconds: 5 };
    const { id } = await make({
      git: { ...git, ref: "release" },
      stages: { build: { script: "make", timeout: 60 }, start: { script: "run", healthCheck } },
      env: { A: "1" },
    });
    const path = `/api/projects/${id}`;
    await server.admin.expect(200, "PATCH", path, {
      stages: { build: { script: "make all" } },
      git: { ref: "next" },
    });
    const changed = await server.admin.expect(200, "PATCH", path, { env: { B: "2" }, supersede: "queued" });
    expect(changed).toMatchObject({
      git: { url: git.url, ref: "next" },
      stages: { build: { script: "make all", timeout: 60 }, start: { script: "run", healthCheck } },
      env: { B: "2" },
      supersede: "queued",
    });
    expect(changed.env).toEqual({ B: "2" });
    await server.admin.expect(200, "PATCH", path, { stages: { start: { healthCheck: null } } });
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({
      stages: { start: { healthCheck: null } },
    });
  });

  test("keeps both of two concurrent changes", async () => {
    const { id } = await make();
    const path = `/api/projects/${id}`;
    await Promise.all([
      server.admin.expect(200, "PATCH", path, { stages: { build: { script: "make" } } }),
      server.admin.expect(200, "PATCH", path, { stages: { deploy: { script: "ship" } } }),
      server.admin.expect(200, "PATCH", path, { git: { ref: "release" } }),
      server.admin.expect(200, "PATCH", path, { git: { submodules: true } }),
    ]);
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({
      git: { ref: "release", submodules: true },
      stages: { build: { script: "make" }, deploy: { script: "ship" } },
    });
  });

  test("is refused with every wrong field named at once", async () => {
    const fields = await fieldsOf("POST", "/api/projects", {
      name: " ",
      git: { url: "ext::sh", ref: "--upload-pack=x", barnch: "main" },
      stages: { biuld: { script: "x" }, deploy: { timeout: 0 } },
      env: { "1BAD": "x", CI_REF: "x", GOOD: 5 },
      notify: [{ url: "javascript:alert(1)" }],
      supersede: "all",
      colour: "red",
    });
    expect(Object.keys(fields).sort()).toEqual(
      [
        "colour",
        "env.1BAD",
        "env.CI_REF",
        "env.GOOD",
        "git.barnch",
        "git.ref",
        "git.url",
        "name",
        "notify.0.url",
        "stages.biuld",
        "stages.deploy.timeout",
        "supersede",
      ].sort(),
    );
    expect(fields["stages.biuld"]).toBe("is no field here; did you mean build?");
    expect(fields.supersede).toBe('must be "none" or "queued" or "running"');
    expect(fields["env.GOOD"]).toBe("must be text");
    expect(fields["env.1BAD"]).toBe("must have letters, digits and _ and not start with a digit");
    expect(fields["env.CI_REF"]).toMatch(/set by Slipway itself/);
  });

  test("without a body gets the required fields, and the kinds of health checks, in the error", async () => {
    expect(await fieldsOf("POST", "/api/projects", "")).toEqual({ name: "is required", git: "is required" });
    const healthCheck = { type: "ping" };
    const fields = await fieldsOf("POST", "/api/projects", {
      name: "x",
      git,
      stages: { start: { script: "true", healthCheck } },
    });
    expect(fields["stages.start.healthCheck.type"]).toMatch(/^must be "command" or /);
  });

  test("refuses credentials in its URL and says where they belong", async () => {
    const body = { name: "leaky", git: { url: "https://user:hunter2@git.example.com/shop.git" } };
    const answer = await server.admin.request("POST", "/api/projects", body);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("/credential");
    expect(answer.text).not.toContain("hunter2");
  });

  test("may be in the samples folder, but nowhere else on this machine", async () => {
    const sample = join(server.dataDir, "samples", "hello.git");
    expect((await make({ git: { url: sample } })).git.url).toBe(sample);
    const faults = await fieldsOf("POST", "/api/projects", { name: "x", git: { url: "/etc" } });
    expect(Object.keys(faults)).toEqual(["git.url"]);
  });

  test("has a unique name", async () => {
    await make({ name: "unique" });
    expect((await server.admin.request("POST", "/api/projects", { name: "unique", git })).status).toBe(409);
  });

  test("is gone after deletion", async () => {
    const { id } = await make();
    await server.admin.expect(204, "DELETE", `/api/projects/${id}`);
    expect((await server.admin.request("GET", `/api/projects/${id}`)).status).toBe(404);
  });

  test.each(["0", "-1", "abc", "1.5", "99999999999999999999", "2147483648", "%00"])(
    "%s is none",
    async (id) => {
      expect((await server.admin.request("GET", `/api/projects/${id}`)).status).toBe(404);
    },
  );
});

describe("the list of projects", () => {
  test("is alphabetical, in pages, and can be searched", async () => {
    for (const name of ["zeta list", "alpha list", "mid list", "Магазин"]) await make({ name });
    const names = async (query: string) =>
      (
        await server.admin.expect<{ items: { name: string }[] }>(200, "GET", `/api/projects?${query}`)
      ).items.map((item) => item.name);
    expect(await names("search=LIST")).toEqual(["alpha list", "mid list", "zeta list"]);
    expect(await names("search=list&page=2&pageSize=2")).toEqual(["zeta list"]);
    const page = await server.admin.expect(200, "GET", "/api/projects?search=list&page=2&pageSize=2");
    expect(page).toMatchObject({ total: 3, page: 2, pageSize: 2 });
    expect(await names("search=%25")).toEqual([]);
    expect(await names(`search=${encodeURIComponent("Магазин")}`)).toEqual(["Магазин"]);
  });

  test.each(["page=0", "pageSize=201", "page=x", "pageSize=-1", "limit=5", "page=1&page=2", "search=%00"])(
    "refuses %s",
    async (query) => {
      expect((await server.admin.request("GET", `/api/projects?${query}`)).status).toBe(422);
    },
  );

  test("shows only what the caller may view", async () => {
    const { id, client } = await server.newUser("reader");
    const { id: projectId } = await make();
    expect(await client.expect(200, "GET", "/api/projects")).toMatchObject({ total: 0, items: [] });
    await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission: "view" });
    expect(await client.expect(200, "GET", "/api/projects")).toMatchObject({
      total: 1,
      items: [{ id: projectId }],
    });
    const members = await client.expect(200, "GET", `/api/projects/${projectId}/members`);
    expect(members).toMatchObject({
      items: [{ userId: id, username: "reader", permission: "view" }],
      total: 1,
    });
    await server.admin.expect(204, "DELETE", `/api/projects/${projectId}/members/${id}`);
    expect((await client.request("GET", `/api/projects/${projectId}`)).status).toBe(404);
  });
});

describe("a new project", () => {
  test("needs an admin, or a manager of its group", async () => {
    const { id, client } = await server.newUser("lead");
    const group = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "team" });
    const attempt = async (groupId?: number) =>
      (await client.request("POST", "/api/projects", { name: `by lead ${++count}`, git, groupId })).status;
    const member = (permission: string) =>
      server.admin.expect(200, "PUT", `/api/groups/${group.id}/members/${id}`, { permission });
    expect(await attempt()).toBe(403);
    expect(await attempt(group.id)).toBe(404);
    await member("view");
    expect(await attempt(group.id)).toBe(403);
    await member("manage");
    expect(await attempt(group.id)).toBe(201);
    const other = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
      name: "other team",
    });
    const own = await client.expect<{ items: Project[] }>(200, "GET", "/api/projects");
    const path = `/api/projects/${own.items[0]?.id}`;
    expect((await client.request("PATCH", path, { groupId: other.id })).status).toBe(404);
  });
});

describe("secrets and credentials", () => {
  const key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n";

  test("are write-only: only their names, and whether they are set, can be read", async () => {
    const { id } = await make();
    const path = `/api/projects/${id}`;
    await server.admin.expect(204, "PUT", `${path}/secrets/TOKEN`, { value: "s3cret" });
    await server.admin.expect(204, "PUT", `${path}/credential`, { type: "token", token: "t0ken" });
    await server.admin.expect(204, "PUT", `${path}/keys/notify-key`, { value: "k3y" });
    const project = await server.admin.request("GET", path);
    expect(project.body).toMatchObject({ secretNames: ["TOKEN"], git: { credentialSet: true } });
    expect(project.text).not.toMatch(/s3cret|t0ken|k3y/);
    const keys = await server.admin.expect(200, "GET", `${path}/keys`);
    expect(keys).toEqual({ notifyKeySet: true, statusTokenSet: false });
    await server.admin.expect(204, "PUT", `${path}/credential`, { type: "ssh", privateKey: key });
    await server.admin.expect(204, "DELETE", `${path}/credential`);
    await server.admin.expect(204, "DELETE", `${path}/secrets/TOKEN`);
    expect((await server.admin.request("DELETE", `${path}/secrets/TOKEN`)).status).toBe(404);
    const after = await server.admin.expect<Project>(200, "GET", path);
    expect([after.secretNames, after.git.credentialSet]).toEqual([[], false]);
  });

  test("need a valid variable name, and a valid private key", async () => {
    const path = `/api/projects/${(await make()).id}`;
    for (const name of ["1A", "a-b", "%3Acredential", "CI_TOKEN", "x".repeat(129)])
      expect((await server.admin.request("PUT", `${path}/secrets/${name}`, { value: "x" })).status).toBe(422);
    expect(
      await fieldsOf("PUT", `${path}/credential`, { type: "ssh", privateKey: "nonsense" }),
    ).toHaveProperty("privateKey");
  });
});

describe("the audit log", () => {
  test("has every change with who, what and from where, newest first, and can be filtered", async () => {
    const { id } = await make({ name: "audited" });
    await server.admin.expect(204, "PUT", `/api/projects/${id}/secrets/KEY`, { value: "never in the log" });
    await server.admin.expect(204, "DELETE", `/api/projects/${id}`);
    const log = await server.admin.request("GET", `/api/audit?projectId=${id}`);
    expect(log.body).toMatchObject({
      total: 3,
      items: [
        { action: "project.delete", username: "admin", subject: "project audited", remoteIp: "127.0.0.1" },
        { action: "project.set-secret", detail: { name: "KEY" } },
        { action: "project.create", userId: 1 },
      ],
    });
    expect(log.text).not.toContain("never in the log");
    const since = new Date(Date.now() + 60_000).toISOString();
    expect(await server.admin.expect(200, "GET", `/api/audit?from=${since}`)).toMatchObject({ total: 0 });
    const created = await server.admin.expect(200, "GET", `/api/audit?action=project.create&projectId=${id}`);
    expect(created).toMatchObject({ total: 1 });
    for (const from of ["yesterday", "-1", "2026-13-01", "2026-01-01T10:00", "9999999999999999"])
      expect((await server.admin.request("GET", `/api/audit?from=${from}`)).status).toBe(422);
    for (const from of [
      "2026-01-01",
      "1767225600000",
      "2026-01-01T10:00:00.000Z",
      "2026-01-01T10:00%2B02:00",
    ])
      expect((await server.admin.request("GET", `/api/audit?from=${from}`)).status).toBe(200);
  });
});

describe("a runner", () => {
  test("gets its token once, can get another, and the local one cannot be deleted", async () => {
    const made = await server.admin.expect<{ id: number; token: string }>(201, "POST", "/api/runners", {
      name: "build-1",
      labels: ["linux"],
    });
    expect(made.token).toMatch(/^slr_/);
    const path = `/api/runners/${made.id}`;
    const list = await server.admin.request("GET", "/api/runners");
    expect(list.body).toMatchObject({
      items: [{ name: "build-1", labels: ["linux"], online: false, local: false }],
    });
    expect(list.text).not.toContain(made.token);
    const renewed = await server.admin.expect<{ token: string }>(200, "POST", `${path}/reset-token`);
    expect(renewed.token).not.toBe(made.token);
    expect(await server.admin.expect(200, "PATCH", path, { disabled: true })).toMatchObject({
      disabled: true,
    });
    await server.admin.expect(204, "DELETE", path);
    expect((await server.admin.request("GET", path)).status).toBe(404);
  });
});

describe("all wrong fields of a request are reported at once", () => {
  test("of a run by hand", async () => {
    const path = `/api/projects/${(await make()).id}/tasks`;
    const wrong = { ref: "--upload-pack=x", commit: "main", actions: { fromStage: "start", start: false } };
    expect(Object.keys(await fieldsOf("POST", path, wrong))).toEqual(["ref", "commit", "actions"]);
    expect(Object.keys(await fieldsOf("POST", path, { ref: "", commit: "", actions: { build: 1 } }))).toEqual(
      ["ref", "commit", "actions.build"],
    );
    const none = await server.admin.expect(201, "POST", path, { ref: null, commit: null, actions: null });
    expect(none).toMatchObject({ ref: "refs/heads/main", commit: null });
  });

  test("of a token and of a message", async () => {
    const past = { name: "", scopes: ["all"], expiresAt: "2020-01-01T00:00:00Z" };
    expect(Object.keys(await fieldsOf("POST", "/api/tokens", past))).toEqual([
      "name",
      "scopes.0",
      "expiresAt",
    ]);
    const nobody = { targetType: "user", data: 7 };
    expect(Object.keys(await fieldsOf("POST", "/api/push/publish", nobody))).toEqual(["data", "target"]);
    for (const body of [[], 7, null])
      expect(Object.keys(await fieldsOf("POST", "/api/push/publish", body))).toEqual(["body"]);
  });
});
