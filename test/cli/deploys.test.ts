import { expect, test } from "bun:test";
import { guardedProject, memberOf } from "../support/approval-scene.ts";
import { buildCli } from "../support/cli.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { scratchOf } from "../support/temporary-folder.ts";

const { server, repository, commit } = await setUpDeploy({ "webhook.reconcileMinutes": 0.02 });
const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
  name: "shell",
  scopes: ["write"],
});
const slipway = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token });

test("task approve and task reject answer a deploy that waits", async () => {
  const { id, deployed } = await guardedProject(server, { url: repository.url, dataDir: server.dataDir });
  const first = await server.reach((await server.run(id)).id, "waiting");
  const rejected = await slipway(["task", "reject", String(first.id), "--comment", "not today"]);
  expect(rejected).toMatchObject({ exitCode: 0, stdout: `Task ${first.id} is canceled.\n` });
  expect((await server.task(first.id)).reason).toBe("rejected by admin: not today");
  const again = await slipway(["task", "approve", String(first.id)]);
  expect(again.exitCode).not.toBe(0);
  expect(again.stderr).toContain(`Task ${first.id} does not wait for an approval: it is canceled.`);
  const second = await server.reach((await server.run(id)).id, "waiting");
  const approved = await slipway(["task", "approve", String(second.id), "--json"]);
  expect(approved.json()).toMatchObject({ id: second.id, approval: { state: "approved", by: "admin" } });
  await server.reach(second.id, "success");
  expect(deployed()).toEqual([`${commit} red 2`]);
});

test("task show says who may approve a deploy, and task approve takes the reason of an administrator", async () => {
  const place = { url: repository.url, dataDir: server.dataDir };
  const { id } = await guardedProject(server, place, { notByPusher: true });
  const { id: taskId } = await server.reach((await server.run(id)).id, "waiting");
  const shown = await slipway(["task", "show", String(taskId)]);
  expect(shown.stdout).toContain("an administrator may, with a reason in --comment.");
  expect(shown.stdout).toContain(
    "May not: admin pushed, started or sent this task. admin changed what it deploys:",
  );
  await memberOf(server, id, "cli-ann");
  expect((await slipway(["task", "show", String(taskId)])).stdout).toContain("May approve it: cli-ann\n");
  const refused = await slipway(["task", "approve", String(taskId)]);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain("These people may: cli-ann.");
  const alone = await guardedProject(server, place, { notByPusher: true });
  const own = await server.reach((await server.run(alone.id)).id, "waiting");
  const { token: full } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "full",
    scopes: ["admin"],
  });
  const asAdmin = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: full });
  expect((await asAdmin(["task", "approve", String(own.id)])).stderr).toContain("must say why");
  const given = await asAdmin(["task", "approve", String(own.id), "--comment", "nobody else works here"]);
  expect(given).toMatchObject({ exitCode: 0, stdout: `Task ${own.id} is queued.\n` });
  await server.reach(own.id, "success");
  expect((await slipway(["task", "show", String(own.id)])).stdout).toContain(
    "Approved by admin, because nobody else was left who may: nobody else works here",
  );
});

test("project rollback returns to the previous release, or to the release that --to names, and follows it to its end", async () => {
  const file = `${scratchOf(server.dataDir)}/rolled-back`;
  const project = await server.project(repository.url, { deploy: `echo $CI_COMMIT >> ${file}` });
  const lines = async () => (await Bun.file(file).text()).trim().split("\n");
  const none = await slipway(["project", "rollback", String(project)]);
  expect(none.exitCode).not.toBe(0);
  expect(none.stderr).toContain("has no earlier release to return to");
  const first = await server.reach((await server.run(project)).id, "success");
  const second = await repository.push({ "app.txt": "two\n" });
  const latest = await server.reach((await server.run(project)).id, "success");
  const back = await slipway(["project", "rollback", String(project), "--follow"]);
  expect(back).toMatchObject({ exitCode: 0 });
  expect(await lines()).toEqual([commit, second, commit]);
  const forth = await slipway([
    "project",
    "rollback",
    String(project),
    "--to",
    String(latest.id),
    "--follow",
  ]);
  expect(forth.exitCode).toBe(0);
  expect(await lines()).toEqual([commit, second, commit, second]);
  const releases = await slipway(["project", "releases", String(project)]);
  expect(releases.stdout).toContain(`${latest.id}`);
  expect(releases.stdout).toContain(first.commit?.slice(0, 7) ?? "no commit");
});

test("task show and logs name the steps of a stage", async () => {
  const pipeline = {
    build: [
      { name: "test", script: "echo tested" },
      { name: "lint", script: "exit 3" },
    ],
  };
  const project = await server.project(repository.url, {}, { pipeline });
  const { id } = await server.reach((await server.run(project)).id, "failed");
  const { stdout } = await slipway(["task", "show", String(id)]);
  expect(stdout).toMatch(/^build +failed .* 3$/m);
  expect(stdout).toMatch(/^ {2}test +success .* 0$/m);
  expect(stdout).toMatch(/^ {2}lint +failed .* 3$/m);
  expect(stdout).toContain("failed: build/lint failed with exit code 3");
  expect((await slipway(["logs", String(id)])).stdout).toContain("build/test tested\n");
});

test("project rollback says which settings return with the release, and how the project's differ", async () => {
  const project = await server.project(
    repository.url,
    { deploy: "echo $PORT" },
    { env: { PORT: "8001", COLOR: "red" } },
  );
  const first = await server.reach((await server.run(project)).id, "success");
  await server.admin.expect(200, "PATCH", `/api/projects/${project}`, {
    env: { PORT: "8002", COLOR: "red" },
    stages: { deploy: { script: "echo in $PORT" } },
  });
  const latest = await server.reach((await server.run(project)).id, "success");
  const to = (id: number) => ["project", "rollback", String(project), "--to", String(id)];
  const back = await slipway(["project", "rollback", String(project), "--follow"]);
  expect(back.stdout).toContain("These differ from those of the project:\n");
  expect(back.stdout).toMatch(/^env\.PORT +8001 +8002$/m);
  expect(back.stdout).toMatch(/^stages\.deploy\.script +echo \$PORT +echo in \$PORT$/m);
  expect(back.stdout).not.toContain("env.COLOR");
  const forth = await slipway(to(latest.id));
  expect(forth.stdout).toContain("None differs from those of the project.");
  const again = await slipway([...to(first.id), "--json"]);
  expect(again.json()).toMatchObject({
    state: "queued",
    changedSettings: [
      { setting: "env.PORT", release: "8001", project: "8002" },
      { setting: "stages.deploy.script" },
    ],
  });
});

test("hook poll says when the repository was asked, and what came of it", async () => {
  const project = await server.project(repository.url, { build: "true" });
  const poll = () => slipway(["hook", "poll", String(project)]);
  expect(await poll()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("not polled") });
  await server.admin.expect(200, "PUT", `/api/projects/${project}/webhook`, { enabled: true });
  await eventually("the repository was asked", async () => /last: 20\d\d-/.test((await poll()).stdout));
  expect((await poll()).stdout).toMatch(/^last: 20.*\nnext: 20.*, every 0.02 minutes\n/);
  const gone = await server.project("https://127.0.0.1:1/none.git", { build: "true" });
  await server.admin.expect(200, "PUT", `/api/projects/${gone}/webhook`, { enabled: true });
  await eventually("the error is shown", async () =>
    (await slipway(["hook", "poll", String(gone)])).stdout.includes("error: "),
  );
});

test("an empty or wrong value of an option is refused: an unset shell variable must not change what is deployed", async () => {
  const project = String(await server.project(repository.url, { deploy: "true" }));
  for (let count = 0; count < 2; count++)
    await server.reach((await server.run(Number(project))).id, "success");
  const path = `/api/tasks?projectId=${project}`;
  const before = await server.admin.expect<{ total: number }>(200, "GET", path);
  const wrong = [
    ["project", "rollback", project, "--to", "abc"],
    ["project", "rollback", project, "--to", ""],
    ["project", "move", project, "--runner", "abc"],
    ["project", "run", project, "--commit", ""],
    ["project", "run", project, "--ref", " "],
    ["hook", "replay", "--project", "", "--status", "accepted", "--yes"],
    ["hook", "replay", "--search", "", "--yes"],
    ["project", "create", "shop", repository.url, "--isolation", ""],
  ];
  const ended = await Promise.all(wrong.map((args) => slipway(args)));
  for (const { exitCode, stderr } of ended) {
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/It is empty; give a value|It must be an id/);
  }
  expect((await server.admin.expect<{ total: number }>(200, "GET", path)).total).toBe(before.total);
  const { homeRunnerId } = await server.admin.expect<{ homeRunnerId: number | null }>(
    200,
    "GET",
    `/api/projects/${project}`,
  );
  expect(homeRunnerId).not.toBeNull();
});

test("runner list and runner show say how scripts are isolated, and how they can be", async () => {
  const { token: full } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "runners",
    scopes: ["admin"],
  });
  const asAdmin = buildCli({ SLIPWAY_URL: server.url });
  await eventually("the runner has reported", async () => {
    const { stdout } = await asAdmin(["runner", "list", "--token", full]);
    return stdout.includes("runner.isolation is none: unset it");
  });
  const all = (await asAdmin(["runner", "list", "--token", full, "--json"])).json() as {
    items: { id: number; isolationNote: string }[];
  };
  const shown = await asAdmin(["runner", "show", String(all.items[0]?.id), "--token", full]);
  expect(shown.stdout).toContain("Isolation: none.\nNo sandbox: runner.isolation is none: unset it");
  const unknown = await asAdmin(["runner", "show", "999", "--token", full]);
  expect(unknown).toMatchObject({ exitCode: 5, stderr: "There is no runner 999.\n" });
});
