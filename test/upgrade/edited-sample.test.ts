import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { callerWith, copyInstallation, startOn } from "./recording.ts";

test("deleting a sample whose address was changed with version 0.1.0 deletes no other folder", async () => {
  const installation = await copyInstallation("SQLite");
  const { dataDir, facts, query } = installation;
  const columns = "group_id, stages, env, notify, labels, supersede, sample, created_at";
  const [row] = await query(`select git from projects where id = ${facts.ids.sample}`);
  const own = (JSON.parse(String(row?.git)) as { url: string }).url;
  const foreign = join(dataDir, "../foreign/samples/sample-0123ab");
  const inside = join(dataDir, "samples/people");
  for (const folder of [foreign, inside]) {
    mkdirSync(join(folder, "repository"), { recursive: true });
    writeFileSync(join(folder, "kept"), "");
  }
  const addresses = [
    "git@git.example.com:x.git",
    join(dataDir, "x.git"),
    join(dataDir, "samples/x.git"),
    join(dataDir, "samples/repository"),
    join(foreign, "repository"),
    join(inside, "repository"),
    `${dirname(own)}/../sample-0123ab/repository`,
    own,
  ];
  for (const [index, url] of addresses.entries())
    await query(`insert into projects (name, git, ${columns})
      select 'edited ${index}', replace(git, '${own}', '${url}'), ${columns} from projects where id = ${facts.ids.sample}`);
  const server = await startOn(installation);
  try {
    const admin = callerWith(server.url, facts.sessions.admin);
    const { items } = await admin<{ items: { id: number; git: { url: string } }[] }>(
      "GET",
      "/api/projects?search=edited&pageSize=200",
    );
    expect(items.map(({ git }) => git.url).sort()).toEqual(addresses.sort());
    for (const { id } of items) await admin("DELETE", `/api/projects/${id}`);
    for (const kept of [join(dataDir, "slipway.db"), join(foreign, "kept"), join(inside, "kept"), own])
      expect({ kept, exists: existsSync(kept) }).toEqual({ kept, exists: true });
    await admin("DELETE", `/api/projects/${facts.ids.sample}`);
    expect(existsSync(dirname(own))).toBe(false);
  } finally {
    await server.stop();
    await installation.remove();
  }
});
