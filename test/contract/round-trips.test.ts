import { describe, expect, test } from "bun:test";
import pg from "pg";
import { availableDatabases } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";

describe.each((await availableDatabases()).filter(({ name }) => name === "PostgreSQL"))(
  "on $name",
  ({ make }) => {
    test("an accepted delivery takes four round trips", async () => {
      const database = await make();
      const server = await startHookServer(await database.open());
      const { url } = await server.project({ debounceSeconds: 0, secret: "right" });
      const push = {
        payload: { event: "push", ref: "refs/heads/main" },
        headers: { "X-CICD-Token": "right" },
      };
      // The runners are read once a second, beside the delivery.
      for (let warm = 0; warm < 3; warm++) expect((await deliverTo(url, push)).status).toBe(202);
      const { query } = pg.Client.prototype;
      const texts: string[] = [];
      pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
        const [asked] = given as unknown as [string | { text: string }];
        texts.push(typeof asked === "string" ? asked : asked.text);
        return query.apply(this, given);
      } as typeof query;
      try {
        expect((await deliverTo(url, push)).status).toBe(202);
      } finally {
        pg.Client.prototype.query = query;
      }
      const ofDelivery = texts.filter((text) => !text.includes('from "runners"'));
      expect(ofDelivery.map((text) => text.slice(0, 6))).toEqual([
        "begin;",
        expect.any(String),
        'with "',
        "commit",
      ]);
      await server.stop();
      await database.remove();
    }, 30_000);
  },
);
