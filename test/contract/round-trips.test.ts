import { describe, expect, test } from "bun:test";
import pg from "pg";
import { availableDatabases } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { startHookServer } from "../support/hook-server.ts";

describe.each((await availableDatabases()).filter(({ name }) => name === "PostgreSQL"))(
  "on $name",
  ({ make }) => {
    /** The queries and batches of queries that are sent while `work` runs. */
    async function sentDuring(work: () => Promise<void>): Promise<string[]> {
      const { query } = pg.Client.prototype;
      const sent: string[] = [];
      pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
        const [asked] = given as unknown as [string | { text?: string }];
        sent.push(typeof asked === "string" ? asked : (asked.text ?? "batch"));
        return query.apply(this, given);
      } as typeof query;
      try {
        await work();
      } finally {
        pg.Client.prototype.query = query;
      }
      // The runners and the clock of the database are read now and then, beside the delivery.
      return sent.filter((text) => !text.includes('from "runners"') && !text.includes("clock_timestamp"));
    }

    test("an accepted delivery takes four round trips, and many that arrive together share them", async () => {
      const database = await make();
      const server = await startHookServer(await database.open());
      const urls: string[] = [];
      for (let each = 0; each < 20; each++)
        urls.push((await server.project({ debounceSeconds: 0, secret: "right" })).url);
      const push = {
        payload: { event: "push", ref: "refs/heads/main" },
        headers: { "X-CICD-Token": "right" },
      };
      const deliver = async (url: string) => expect((await deliverTo(url, push)).status).toBe(202);
      for (const url of urls) await deliver(url);
      expect(await sentDuring(() => deliver(urls[0] ?? ""))).toEqual(["batch", "batch", "batch", "commit"]);
      const ofMany = await sentDuring(async () => void (await Promise.all(urls.map(deliver))));
      expect(ofMany.length).toBeLessThanOrEqual(2 * urls.length);
      await server.stop();
      await database.remove();
    });
  },
);
