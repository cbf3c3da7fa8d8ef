import { describe, expect, test } from "bun:test";
import { startApiServer } from "../support/api-server.ts";
import { availableDatabases } from "../support/databases.ts";

describe.each(await availableDatabases())("on $name", ({ make }) => {
  test("two administrators who demote, disable or delete each other at the same time: one of them remains", async () => {
    const database = await make();
    const server = await startApiServer({ "database.url": database.url });
    const changes = [
      ["PATCH", { role: "user" }],
      ["PATCH", { disabled: true }],
      ["DELETE", undefined],
    ] as const;
    for (const [index, [method, body]] of changes.entries()) {
      const [ann, ben] = [
        await server.newUser(`ann${index}`, "admin"),
        await server.newUser(`ben${index}`, "admin"),
      ];
      // The first administrator is demoted, so that these two are the last.
      await ann.client.expect(200, "PATCH", "/api/users/1", { role: "user" });
      const answers = await Promise.all([
        ann.client.request(method, `/api/users/${ben.id}`, body),
        ben.client.request(method, `/api/users/${ann.id}`, body),
      ]);
      // 409 if both requests overlap; 401 or 403 if the other was already complete.
      const refused = answers.filter(({ status }) => [401, 403, 409].includes(status));
      expect(refused.length).toBe(1);
      const winner = answers[0] === refused[0] ? ben : ann;
      await winner.client.expect(200, "PATCH", "/api/users/1", { role: "admin" });
      await server.admin.expect(204, "DELETE", `/api/users/${winner.id}`);
    }
    await server.stop();
    await database.remove();
  });
});
