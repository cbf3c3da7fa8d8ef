import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, type ApiServer, startApiServer } from "../support/api-server.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";

interface Thing {
  path: string;
  method: "PATCH" | "PUT";
  /** Two changes of one field. */
  first: object;
  second: object;
}

const git = { url: "https://git.example.com/shop.git" };

for (const { name, make } of await availableDatabases())
  describe(`on ${name}`, () => {
    let database: TestDatabase;
    let server: ApiServer;
    let things: Record<string, Thing>;

    beforeAll(async () => {
      database = await make();
      server = await startApiServer({ "database.url": database.url });
      const { admin } = server;
      const idOf = async (path: string, body: object) =>
        (await admin.expect<{ id: number }>(201, "POST", path, body)).id;
      const project = `/api/projects/${await idOf("/api/projects", { name: "shop", git })}`;
      const group = await idOf("/api/groups", { name: "Shop" });
      const user = await idOf("/api/users", { username: "ann", password: "a good long sentence" });
      const runner = await idOf("/api/runners", { name: "build-1", labels: ["linux"] });
      things = {
        project: {
          path: project,
          method: "PATCH",
          first: { env: { A: "1" } },
          second: { env: { B: "2" } },
        },
        webhook: {
          path: `${project}/webhook`,
          method: "PUT",
          first: { branchFilter: ["main"] },
          second: { branchFilter: ["live"] },
        },
        group: {
          path: `/api/groups/${group}`,
          method: "PATCH",
          first: { name: "Storefront" },
          second: { name: "Shopfront" },
        },
        user: {
          path: `/api/users/${user}`,
          method: "PATCH",
          first: { role: "admin" },
          second: { disabled: true },
        },
        runner: {
          path: `/api/runners/${runner}`,
          method: "PATCH",
          first: { labels: ["arm64"] },
          second: { labels: ["x64"] },
        },
      };
    });
    afterAll(async () => {
      await server.stop();
      await database.remove();
    });

    const thing = (noun: string): Thing => {
      const found = things[noun];
      if (found === undefined) throw new Error(`no ${noun}`);
      return found;
    };
    const read = (noun: string) => server.admin.request("GET", thing(noun).path);
    const tagOf = ({ headers }: Answer) => headers.get("etag") ?? "";
    const save = (noun: string, body: object, condition?: string) =>
      server.admin.request(
        thing(noun).method,
        thing(noun).path,
        body,
        condition === undefined ? {} : { "if-match": condition },
      );

    for (const noun of ["project", "webhook", "group", "user", "runner"]) {
      test(`of two that read a ${noun}, the second to save upon what was read is refused and overwrites nothing`, async () => {
        const { first, second } = thing(noun);
        const before = await read(noun);
        expect(tagOf(before)).toMatch(/^"[\w-]{22}"$/);
        expect(before.body).toMatchObject({ revision: tagOf(before).slice(1, -1) });
        expect(tagOf(await read(noun))).toBe(tagOf(before));

        const saved = await save(noun, first, tagOf(before));
        expect([saved.status, saved.body]).toEqual([200, expect.objectContaining(first)]);
        expect(tagOf(saved)).not.toBe(tagOf(before));
        expect(tagOf(saved)).toBe(tagOf(await read(noun)));

        const refused = await save(noun, second, tagOf(before));
        expect(refused.status).toBe(412);
        expect(refused.body).toMatchObject({
          error: { code: "changed_meanwhile", message: expect.stringContaining(`The ${noun} was changed`) },
        });
        expect((await read(noun)).body).toMatchObject(first);

        expect((await save(noun, second, `"other", W/${tagOf(saved)}`)).status).toBe(200);
        expect((await save(noun, first, "*")).status).toBe(200);
        expect((await save(noun, second)).status).toBe(200);
        expect((await save(noun, first, "")).status).toBe(412);
        expect((await read(noun)).body).toMatchObject(second);
      });
    }

    test("of many concurrent saves with the same revision, one wins", async () => {
      for (const noun of ["project", "webhook", "group", "runner"]) {
        const tag = tagOf(await read(noun));
        const change = (at: number): object => {
          if (noun === "group") return { name: `Group ${at}` };
          if (noun === "runner") return { labels: [`label-${at}`] };
          return noun === "webhook" ? { branchFilter: [`b${at}`] } : { env: { AT: String(at) } };
        };
        const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => save(noun, change(at), tag)));
        const won = answers.filter(({ status }) => status === 200);
        expect([noun, won.length, answers.filter(({ status }) => status === 412).length]).toEqual([
          noun,
          1,
          7,
        ]);
        expect(tagOf(await read(noun))).toBe(tagOf(won[0] as Answer));
      }
    });

    test("a secret that is replaced, a key that is reset and a webhook that is not saved yet count", async () => {
      const { path } = thing("webhook");
      const tags = [tagOf(await read("webhook"))];
      for (const secret of ["one secret", "one secret"]) {
        await server.admin.expect(200, "PUT", path, { secret, enabled: true });
        tags.push(tagOf(await read("webhook")));
      }
      await server.admin.expect(200, "POST", `${path}/reset-key`);
      tags.push(tagOf(await read("webhook")));
      expect(new Set(tags).size).toBe(4);
      const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
        name: "bare",
        git,
      });
      const bare = `/api/projects/${id}/webhook`;
      const unsaved = tagOf(await server.admin.request("GET", bare));
      const saved = await server.admin.request("PUT", bare, { enabled: true }, { "if-match": unsaved });
      expect(saved.status).toBe(200);
    });

    test("a resource can be sent back as it was read, with its revision", async () => {
      const { path } = thing("webhook");
      const { body } = await read("webhook");
      await server.admin.expect(200, "PUT", path, body);
    });

    test("a condition on a resource without a revision is refused, never ignored", async () => {
      const { path } = thing("project");
      const secret = `${path}/secrets/TOKEN`;
      const put = (condition: string) =>
        server.admin.request("PUT", secret, { value: "x" }, { "if-match": condition });
      expect((await put('"abc"')).status).toBe(412);
      expect(await server.admin.expect<{ secretNames: string[] }>(200, "GET", path)).toMatchObject({
        secretNames: [],
      });
      expect((await put("*")).status).toBe(204);
      const stranger = await server.anonymous.request("DELETE", path, undefined, { "if-match": '"abc"' });
      expect(stranger.status).toBe(401);
      const gone = await server.admin.request("DELETE", path, undefined, { "if-match": '"abc"' });
      expect(gone.status).toBe(412);
    });
  });
