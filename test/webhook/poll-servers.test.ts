import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { makePostgres } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { deliveriesOf } from "../support/hook.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const postgres = await serviceUrl("postgres");

describe.skipIf(!postgres)("two servers on one PostgreSQL", () => {
  const folder = temporaryFolder("poll-servers");

  test("the other server soon polls what a killed one was polling", async () => {
    const database = await makePostgres(postgres ?? "");
    const repository = await makeRepository();
    await repository.push({ "app.txt": "one" });
    let isHanging = false;
    let hanging = 0;
    const host = serveGit(dirname(repository.url), null, async () => {
      if (!isHanging) return;
      hanging++;
      await new Promise(() => {});
    });
    const start = (name: string) =>
      startServerProcess(
        join(folder, name),
        { "webhook-reconcile-minutes": "0.02", "runner-enabled": "false" },
        [],
        { SLIPWAY_DATABASE_URL: database.url, SLIPWAY_DATA_ENCRYPTION_KEY: "22".repeat(32) },
      );
    const first = await start("first");
    const id = await first.project(`${host.url}/shop.git`, { build: "true" });
    const path = `/api/projects/${id}/webhook`;
    await first.admin.expect(200, "PUT", path, { enabled: true });
    const polledAt = async () =>
      (await first.admin.expect<{ poll: { lastAt: string | null } }>(200, "GET", path)).poll.lastAt;
    await eventually("the tips are stored", async () => (await polledAt()) !== null);
    isHanging = true;
    const commit = await repository.push({ "app.txt": "two" });
    await eventually("the first server polls", () => hanging > 0);
    const second = await start("second");
    await first.end("SIGKILL");
    isHanging = false;
    const found = async () => (await deliveriesOf(second.admin, id)).filter((each) => each.commit === commit);
    await eventually("the second server finds the push", async () => (await found()).length > 0);
    expect((await found()).map(({ remote_ip }) => remote_ip)).toEqual(["poll"]);
    await second.end("SIGTERM");
    await host.stop();
    await database.remove();
  });
});
