import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { type ProtocolScene, startProtocolScene } from "../support/protocol-scene.ts";

interface Group {
  id: number;
  env: Record<string, string>;
  secrets: { name: string; scope: string; isScopeChosen: boolean; as: string }[];
  revision: string;
}
interface AuditItem {
  action: string;
  subject: string;
  projectId: number | null;
  detail: object;
}

for (const { name: database, make } of await availableDatabases())
  describe(`variables and secrets of a group on ${database}`, () => {
    let held: TestDatabase;
    let scene: ProtocolScene;
    beforeAll(async () => {
      held = await make();
      scene = await startProtocolScene({ "database.url": held.url });
    });
    afterAll(async () => {
      await scene.server.stop();
      await held.remove();
    });

    let groups = 0;
    /** A group with variables and two secrets, and the path of it. */
    async function newGroup(env: object = { COLOR: "red", REGION: "north" }) {
      const { admin } = scene.server;
      const name = `web ${++groups}`;
      const { id } = await admin.expect<Group>(201, "POST", "/api/groups", { name, env });
      const path = `/api/groups/${id}`;
      await admin.expect(204, "PUT", `${path}/secrets/TOKEN`, { value: "group-token", scope: "all" });
      await admin.expect(204, "PUT", `${path}/secrets/DEPLOY_KEY`, { value: "group-key", scope: "deploy" });
      return { id, name, path };
    }

    test("are changed by its managers alone; values of secrets are never answered or audited", async () => {
      const { server } = scene;
      const { admin } = server;
      const { id, name, path } = await newGroup();
      const { id: projectId } = await admin.expect<{ id: number }>(201, "POST", "/api/projects", {
        ...{ name: `member ${id}`, git: { url: "https://git.example.com/shop.git" }, groupId: id },
      });
      const ann = await server.newUser(`ann-${id}`);
      await admin.expect(200, "PUT", `${path}/members/${ann.id}`, { permission: "manage" });
      const group = await ann.client.expect<Group>(200, "PATCH", path, { env: { COLOR: "top-shade" } });
      expect(group).toMatchObject({
        env: { COLOR: "top-shade" },
        secrets: [
          { name: "DEPLOY_KEY", scope: "deploy", isScopeChosen: true, as: "variable" },
          { name: "TOKEN", scope: "all", isScopeChosen: true, as: "variable" },
        ],
      });
      const stale = { "if-match": `"${group.revision}"` };
      await ann.client.expect(204, "PUT", `${path}/secrets/TOKEN`, { value: "second-token" });
      await ann.client.expect(204, "PATCH", `${path}/secrets/TOKEN`, { as: "file", scope: "deploy" });
      await ann.client.expect(409, "PATCH", `${path}/secrets/TOKEN`, { scope: "all" });
      await ann.client.expect(204, "DELETE", `${path}/secrets/DEPLOY_KEY`);
      await ann.client.expect(404, "DELETE", `${path}/secrets/DEPLOY_KEY`);
      await ann.client.expect(422, "PUT", `${path}/secrets/CI_TOKEN`, { value: "x" });
      expect((await ann.client.request("PATCH", path, { env: { A: "b" } }, stale)).status).toBe(200);
      expect((await ann.client.request("PATCH", path, { env: { A: "c" } }, stale)).status).toBe(412);
      // The manager of a project sees what it inherits, and changes nothing of the group.
      const bo = await server.newUser(`bo-${id}`);
      await admin.expect(200, "PUT", `/api/projects/${projectId}/members/${bo.id}`, { permission: "manage" });
      await bo.client.expect(404, "PUT", `${path}/secrets/TOKEN`, { value: "x" });
      expect(await bo.client.expect(200, "GET", `/api/projects/${projectId}/inherited`)).toEqual({
        group: { id, name },
        variables: [{ name: "A", value: "b", hiddenBy: null }],
        secrets: [{ name: "TOKEN", scope: "deploy", as: "file", hiddenBy: null }],
      });
      await admin.expect(200, "PUT", `${path}/members/${bo.id}`, { permission: "view" });
      await bo.client.expect(403, "PUT", `${path}/secrets/TOKEN`, { value: "x" });
      await bo.client.expect(403, "PATCH", path, { env: {} });
      const { items } = await admin.expect<{ items: AuditItem[] }>(200, "GET", `/api/audit?userId=${ann.id}`);
      expect(items.map(({ action }) => action)).toEqual([
        ...["group.update", "group.delete-secret", "group.set-secret-scope", "group.set-secret"],
        ...["group.update", "auth.login"],
      ]);
      expect(items[0]?.detail).toMatchObject({ fields: ["env"] });
      expect(JSON.stringify(items)).not.toContain("top-shade");
      expect(JSON.stringify(items)).not.toContain("second-token");
    });

    test("reach a task of its projects, by scope; what the project has hides them", async () => {
      const { client, runner, server } = scene;
      const { admin } = server;
      const { id, path } = await newGroup({
        COLOR: "red",
        REGION: "north",
        TOKEN_FILE: "of-group",
        valueOf: "7",
      });
      await admin.expect(204, "PUT", `${path}/secrets/PORT`, { value: "group-port", scope: "all" });
      const projectId = await client.project(
        "https://git.example.com/shop.git",
        { build: "make", deploy: "make deploy" },
        { groupId: id, env: { COLOR: "blue", PORT: "80" } },
      );
      const own = `/api/projects/${projectId}`;
      await admin.expect(204, "PUT", `${own}/secrets/TOKEN`, { value: "own-token", scope: "deploy" });
      await admin.expect(204, "PUT", `${own}/secrets/TOKEN_FILE`, { value: "own-file", scope: "deploy" });
      expect(await admin.expect(200, "GET", `${own}/inherited`)).toMatchObject({
        variables: [
          { name: "COLOR", value: "red", hiddenBy: "variable" },
          { name: "REGION", value: "north", hiddenBy: null },
          { name: "TOKEN_FILE", value: "of-group", hiddenBy: "secret" },
          { name: "valueOf", value: "7", hiddenBy: null },
        ],
        secrets: [
          { name: "DEPLOY_KEY", scope: "deploy", hiddenBy: null },
          { name: "PORT", scope: "all", hiddenBy: "variable" },
          { name: "TOKEN", scope: "all", hiddenBy: "secret" },
        ],
      });
      await client.run(projectId);
      const task = await runner.claim();
      if (task === null) throw new Error("Nothing was claimed.");
      expect(task.env).toMatchObject({ COLOR: "blue", REGION: "north", PORT: "80" });
      // A secret of deploy hides the variable of the group from the build too.
      expect(task.env).not.toHaveProperty("TOKEN_FILE");
      expect(task.secrets).toEqual({});
      expect(task.deploySecrets).toEqual({
        DEPLOY_KEY: "group-key",
        TOKEN: "own-token",
        TOKEN_FILE: "own-file",
      });
      await scene.finish(task);
      // Without what hid them.
      await admin.expect(204, "DELETE", `${own}/secrets/TOKEN`);
      await admin.expect(200, "PATCH", own, { env: {} });
      await client.run(projectId, { actions: { deploy: false, start: false } });
      const build = await runner.claim();
      expect(build?.env).toMatchObject({ COLOR: "red", REGION: "north" });
      expect(build?.secrets).toEqual({ TOKEN: "group-token", PORT: "group-port" });
      expect(build?.deploySecrets).toBeUndefined();
      if (build) await scene.finish(build);
    });

    test("that builds get, as nobody has chosen, are a warning where deploys need an approval", async () => {
      const { client, server } = scene;
      const { admin } = server;
      const { id, name, path } = await newGroup();
      await admin.expect(204, "PUT", `${path}/secrets/OPEN`, { value: "for-all" });
      const git = "https://git.example.com/shop.git";
      const projectId = await client.project(git, {}, { groupId: id, deploy: { approval: "required" } });
      const shown = () => admin.expect<{ warnings: string[] }>(200, "GET", `/api/projects/${projectId}`);
      expect((await shown()).warnings.join()).toContain(`these secrets of the group ${name}: OPEN.`);
      await admin.expect(204, "PATCH", `${path}/secrets/OPEN`, { scope: "deploy" });
      expect((await shown()).warnings.join()).not.toContain("of the group");
    });

    test("end with the group, and each project has an entry about it", async () => {
      const { client, server } = scene;
      const { admin } = server;
      const { id, path } = await newGroup();
      const projectId = await client.project("https://git.example.com/shop.git", {}, { groupId: id });
      await admin.expect(204, "DELETE", path);
      const nothing = { group: null, variables: [], secrets: [] };
      expect(await admin.expect(200, "GET", `/api/projects/${projectId}/inherited`)).toEqual(nothing);
      const { items } = await admin.expect<{ items: AuditItem[] }>(
        200,
        "GET",
        `/api/audit?projectId=${projectId}`,
      );
      expect(items[0]).toMatchObject({ action: "project.update", detail: { fields: ["groupId"] } });
    });

    test("have the limits of a project's, and each name is checked", async () => {
      const { admin } = scene.server;
      const { path } = await newGroup();
      const value = "x".repeat(60 * 1024);
      for (let index = 0; index < 8; index++)
        await admin.expect(204, "PUT", `${path}/secrets/LARGE_${index}`, { value });
      const refused = await admin.request("PUT", `${path}/secrets/LARGE_8`, { value });
      expect(refused.status).toBe(409);
      expect(refused.text).toContain("The secrets of the group would have 541 KB");
      const wrong = await admin.request("PATCH", path, { env: { "A-B": "x" } });
      expect(wrong).toMatchObject({ status: 422 });
      expect(wrong.text).toContain("env.A-B");
    });
  });
