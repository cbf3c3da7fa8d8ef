import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBulkConnection } from "../../src/store/maintenance/bulk-connection.ts";
import { failureOf } from "../support/failure.ts";
import { examplesOf } from "../support/page-examples.ts";
import { main } from "../support/program.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("docs/upgrading.md: an upgraded database is left for the backup from before, and serves again", async () => {
  const folder = temporaryFolder("upgrading");
  const data = join(folder, "data");
  const [programs, settings] = [join(folder, "programs"), join(folder, "slipway.yaml")];
  const examples = await examplesOf("upgrading.md", {
    "/var/lib/slipway": data,
    "/opt/slipway/bin": programs,
    "/etc/slipway/slipway.yaml": settings,
  });
  mkdirSync(programs);
  writeFileSync(settings, "");
  writeFileSync(join(programs, "slipway"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  writeFileSync(join(programs, "systemctl"), "#!/bin/sh\n");
  writeFileSync(join(programs, "sudo"), '#!/bin/sh\nshift 2\nexec "$@"\n');
  for (const name of ["slipway", "systemctl", "sudo"]) chmodSync(join(programs, name), 0o755);
  const paste = async (id: string, env: Record<string, string> = {}) => {
    const child = Bun.spawn(
      ["sh", "-e", "-c", examples.find((example) => example.id === id)?.text ?? "exit 9"],
      {
        cwd: folder,
        env: { ...process.env, PATH: `${programs}:${process.env.PATH}`, ...env },
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    expect([id, await new Response(child.stderr).text(), await child.exited]).toEqual([id, "", 0]);
  };
  const noRunner = { "runner-enabled": "false" };
  const before = await startServerProcess(data, noRunner);
  const project = { name: "shop", git: { url: "https://git.example.com/shop.git", ref: "main" } };
  await before.admin.expect(201, "POST", "/api/projects", project);
  await paste("backup", { SLIPWAY_DATA_DIR: data });
  renameSync(join(folder, "before-upgrade.backup"), join(data, "before-upgrade.backup"));
  expect(await before.end("SIGTERM")).toBe(0);

  const database = await openBulkConnection(`sqlite:${join(data, "slipway.db")}`);
  await database.beginWriting();
  await database.execute({
    sql: "insert into kysely_migration (name, timestamp) values ('0999-of-a-later-version', '2030-01-01T00:00:00.000Z')",
    parameters: [],
  });
  await database.commit();
  await database.close();
  expect(String(await failureOf(startServerProcess(data, noRunner)))).toContain(
    "A later version of Slipway has upgraded the database",
  );

  await paste("back");
  expect(existsSync(join(data, "later/slipway.db"))).toBe(true);
  const after = await startServerProcess(data, noRunner);
  const { items } = await after.admin.expect<{ items: { name: string }[] }>(200, "GET", "/api/projects");
  expect(items.map(({ name }) => name)).toContain("shop");
  expect(await after.end("SIGTERM")).toBe(0);
});
