import { expect, test } from "bun:test";
import { chownSync, existsSync, mkdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { runnerFolderOf } from "../support/temporary-folder.ts";

// Root may remove every folder: the server and its runner are an ordinary user.
const { server, repository, dataDir } = await setUpServerProcess(
  { "runner-cache-max-bytes": "1000000" },
  ordinary,
);
const cacheOf = (projectId: number) => join(runnerFolderOf(dataDir), `shared/protected-${projectId}`);

/** Fills the cache as Go does: with folders that nobody may write to. */
const fill = "mkdir -p mod/v1 && head -c 3000000 /dev/zero >mod/v1/code && chmod 555 mod/v1";

test("a cache with read-only folders is emptied when it is too large, and the deploy stays a success", async () => {
  const projectId = await server.project(
    repository.url,
    { build: fill, deploy: "echo deployed" },
    { cache: ["mod"] },
  );
  for (const _ of ["the first task", "and the next"]) {
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    expect(textOf(await server.log(id))).toContain("of runner.cacheMaxBytes: it was emptied]");
    expect(existsSync(cacheOf(projectId))).toBe(false);
    expect(await server.admin.expect(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
      liveTaskId: id,
    });
  }
});

/** As with files that a container wrote as root. */
const canGiveAway = process.getuid?.() === 0;

test.skipIf(!canGiveAway)(
  "a cache that cannot be emptied costs no deploy, and its log says what to do",
  async () => {
    const projectId = await server.project(
      repository.url,
      { build: "head -c 3000000 /dev/zero >mod/code", deploy: "echo deployed" },
      { cache: ["mod"] },
    );
    const foreign = join(cacheOf(projectId), "mod/foreign");
    mkdirSync(join(foreign, "inside"), { recursive: true });
    chownSync(foreign, 65_534, 65_534);
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    const said = textOf(await server.log(id));
    expect(said).toContain("may be larger than runner.cacheMaxBytes and could not be emptied");
    expect(said).toContain("Remove it by hand, as the user its files belong to.");
    rmSync(cacheOf(projectId), { recursive: true });
  },
);

test("a runner starts although a cache that was unused for 90 days cannot be removed, and removes the others", async () => {
  const old = new Date(Date.now() - 91 * 24 * 3_600_000);
  const unused = { readOnly: cacheOf(900_001), foreign: cacheOf(900_002), plain: cacheOf(900_003) };
  for (const folder of Object.values(unused)) mkdirSync(join(folder, "mod/v1"), { recursive: true });
  expect(Bun.spawnSync(["chmod", "555", join(unused.readOnly, "mod")]).success).toBe(true);
  if (canGiveAway) chownSync(join(unused.foreign, "mod"), 65_534, 65_534);
  for (const folder of Object.values(unused)) utimesSync(folder, old, old);
  const killed = server.runnerPid();
  process.kill(killed, "SIGKILL");
  await eventually("another runner is started", () => server.runnerPid() !== killed);
  const { id } = await server.run(await server.project(repository.url, { build: "true" }));
  await server.reach(id, "success");
  expect(existsSync(unused.readOnly)).toBe(false);
  expect(existsSync(unused.plain)).toBe(false);
  expect(existsSync(unused.foreign)).toBe(canGiveAway);
});
