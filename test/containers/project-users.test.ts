import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { answer } from "../support/approval-scene.ts";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { main } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const range = { from: 61_000, to: 61_005 };
let server: DeployServer;
let repository: GitRepository;
const root = temporaryFolder("users");

beforeAll(async () => {
  if (!isRoot) return;
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  await repository.push({ "attack.txt": "x\n" }, { branch: "attack" });
  server = await startDeployServer({
    "runner.engine": "none",
    "runner.dir": root,
    "runner.scriptUsers": range,
  });
});
afterAll(async () => {
  if (!isRoot) return;
  await server.stop();
  server.remove();
});

const workOf = (projectId: number) => join(root, "work", `project-${projectId}`);
const run = async (projectId: number, body: object = {}) => {
  const { id } = await server.run(projectId, { ...body });
  const task = await server.reach(id, "success", "failed", "waiting");
  return { ...task, text: textOf(await server.log(id)) };
};
const buildOnly = { actions: { build: true, deploy: false, start: false } };

/** Tries to change every workspace, release, cache and home but its own. */
const attack = `for d in ${root}/work/*/task-*/source ${root}/work/*/task-* ${root}/shared/* ${root}/home/*; do
  case $d in *"task-$CI_TASK_ID"-*|"$HOME") continue ;; esac
  if echo foreign >"$d/app" 2>/dev/null || ls "$d" >/dev/null 2>&1; then echo "REACHED $d"; fi
done; id -u; id -G; echo home=$HOME; test -w "$HOME" && echo home-writable`;

describe.skipIf(!isRoot)("runner.scriptUsers", () => {
  test("keeps what waits, what is kept and what is cached from other projects and from other refs", async () => {
    const ran = join(root, "ran");
    const scripts = {
      build: `if [ -e attack.txt ]; then ${attack}\nelse echo own >app; echo own >deps/tool; fi`,
      deploy: `test "$(cat app)$(cat deps/tool)" = ownown && echo deployed by $(id -u)`,
    };
    const guarded = { deploy: { approval: "required", branches: ["main"] }, cache: ["deps"] };
    const projectId = await server.project(repository.url, scripts, guarded);
    const kept = await run(projectId);
    await answer(server.admin, kept.id, "approve");
    expect(await server.reach(kept.id)).toMatchObject({ state: "success" });
    const waiting = await run(projectId);
    expect(waiting.state).toBe("waiting");

    const otherId = await server.project(repository.url, { build: attack });
    for (const found of [
      await run(projectId, { ref: "refs/heads/attack", ...buildOnly }),
      await run(otherId),
    ]) {
      expect(found.state).toBe("success");
      expect(found.text).not.toContain("REACHED");
      const uid = Number(/^(610\d\d)$/m.exec(found.text)?.[1]);
      expect(found.text).toContain(`\n${uid}\n${uid}\nhome=${root}/home/${uid}\nhome-writable`);
    }
    await answer(server.admin, waiting.id, "approve");
    expect(await server.reach(waiting.id)).toMatchObject({ state: "success" });
    expect(textOf(await server.log(waiting.id))).toContain(`deployed by ${range.from}`);
    expect(existsSync(ran)).toBe(false);
    const uids = readdirSync(workOf(projectId))
      .filter((name) => name.startsWith("task-"))
      .map((name) => statSync(join(workOf(projectId), name, "source")).uid);
    expect(new Set(uids)).toEqual(new Set([range.from]));
    expect(await server.admin.expect(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
      warnings: [],
    });
    const runners = await server.admin.expect<{ items: object[] }>(200, "GET", "/api/runners");
    expect(runners.items).toMatchObject([{ isolation: "user", projectUsers: true }]);
  });

  test("gives a project the same user again, and none to a project when all are taken", async () => {
    const owners = () =>
      readdirSync(join(root, "users"))
        .toSorted()
        .map((uid) => readFileSync(join(root, "users", uid), "utf8"));
    const before = owners();
    expect(before).toEqual(["project-1-protected", "project-1-other", "project-2-protected"]);
    const ids: number[] = [];
    for (let number = 0; number < 4; number++)
      ids.push(await server.project(repository.url, { build: "id -u" }));
    const results = [];
    for (const id of ids) results.push(await run(id));
    expect(results.map(({ state }) => state)).toEqual(["success", "success", "success", "failed"]);
    expect(results.at(-1)?.reason).toContain(
      `runner.scriptUsers: all user ids from ${range.from} to ${range.to} belong to projects. Give this runner a larger range`,
    );
    const again = await run(ids[0] ?? 0);
    expect(again.text).toMatch(/^61003$/m);
    expect(owners().length).toBe(6);
  });

  test("refuses a wrong range, and one beside runner.scriptUser", () => {
    const ended = (settings: Record<string, string>) => {
      const { exitCode, stderr } = Bun.spawnSync([process.execPath, main, "runner"], {
        env: { PATH: process.env.PATH ?? "", HOME: root, ...connection, ...settings },
        cwd: root,
      });
      return { exitCode, stderr: stderr.toString() };
    };
    const connection = { SLIPWAY_RUNNER_SERVER: "http://127.0.0.1:9", SLIPWAY_RUNNER_TOKEN: "slr_x" };
    expect(ended({ SLIPWAY_RUNNER_SCRIPT_USERS: "0-10" })).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining("must be a range of user ids from 1000, such as 20000-20999"),
    });
    const both = { SLIPWAY_RUNNER_SCRIPT_USERS: "61000-61010", SLIPWAY_RUNNER_SCRIPT_USER: "nobody" };
    expect(ended(both)).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining("Set either runner.scriptUser or runner.scriptUsers, not both."),
    });
  });
});
