import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The data folder of a first start lies in the program's own folder, and npm puts the program's tools on the PATH. */
const ownFolder = resolve(import.meta.dir, "../..");
const ownTools = join(ownFolder, "node_modules/.bin");
const before = { PATH: process.env.PATH, XDG_STATE_HOME: process.env.XDG_STATE_HOME };

let server: DeployServer;
let repository: GitRepository;
let state: string;
let former: string;
let dataDir: string;

beforeAll(async () => {
  state = temporaryFolder("state");
  process.env.XDG_STATE_HOME = state;
  process.env.PATH = [ownTools, join(ownFolder, "node_modules/npm/bin/node-gyp-bin"), before.PATH].join(":");
  repository = await makeRepository();
  await repository.push({ "app.js": 'console.log(typeof require("node:path").join);\n' });
  dataDir = mkdtempSync(join(ownFolder, ".data-of-test-"));
  // A workspace that a runner with another folder kept, and that its service may still run from.
  former = join(dataDir, "runner", "work", "project-1", "task-1-1");
  mkdirSync(former, { recursive: true });
  const kept = { state: "kept", owner: { pid: 1, startedAt: "" }, trees: [], services: [], trust: "other" };
  writeFileSync(join(former, "state.json"), JSON.stringify(kept));
  server = await startDeployServer({ "runner.releases": 1, "runner.dir": undefined }, dataDir);
});
afterAll(async () => {
  process.env.PATH = before.PATH;
  if (before.XDG_STATE_HOME === undefined) delete process.env.XDG_STATE_HOME;
  else process.env.XDG_STATE_HOME = before.XDG_STATE_HOME;
  await server.stop();
  server.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

test("a script finds neither the package nor the tools of the program, and kept workspaces stay until replaced", async () => {
  const projectId = await server.project(repository.url, {
    build: [
      'echo "prefix=$(npm prefix)"',
      'echo "workspace=$CI_WORKSPACE"',
      "node app.js",
      "node -p 'require.resolve.paths(\"x\").join()'",
      'echo "path=:$PATH:"',
      "command -v tsc biome slipway && exit 1",
      "echo clean",
    ].join("\n"),
  });
  expect(projectId).toBe(1);
  expect(existsSync(former)).toBe(true);
  const { id } = await server.run(projectId);
  await server.reach(id, "success");
  const text = textOf(await server.log(id));
  const workspace = /^workspace=(.+)$/m.exec(text)?.[1] ?? "";
  expect(text).toContain(`prefix=${workspace}\n`);
  // A CommonJS file breaks under the program's own `"type": "module"`.
  expect(text).toContain("\nfunction\n");
  expect(text).not.toContain(ownFolder);
  expect(text).toContain("\nclean");
  expect(existsSync(workspace)).toBe(true);
  // The new release replaced the old one, wherever that was.
  expect(existsSync(former)).toBe(false);
  expect(readdirSync(state)).toEqual(["slipway"]);
});

test("deleting a sample removes its folders there too", async () => {
  const made = await server.admin.expect<{ projectId: number; taskId: number }>(201, "POST", "/api/samples");
  await server.reach(made.taskId, "success");
  const isOfSample = (path: string) => path.includes(`project-${made.projectId}`);
  const left = () => readdirSync(state, { recursive: true }).map(String).filter(isOfSample);
  expect(left()).not.toEqual([]);
  await server.admin.expect(204, "DELETE", `/api/projects/${made.projectId}`);
  expect(left()).toEqual([]);
});
