import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import type { ProjectAnswer } from "../../src/http/api/project-shape.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

const { server } = await setUpDeploy();

const fromFile = { pipeline: { from: "repository" } };
const file = ".slipway.yaml";

async function made(text: string | null, more: object = {}) {
  const repository = await makeRepository();
  const commit = await repository.push(text === null ? { "app.txt": "one" } : { [file]: text });
  const id = await server.project(repository.url, {}, { ...fromFile, ...more });
  return { repository, commit, id };
}

const read = (id: number) => server.admin.expect<ProjectAnswer>(200, "GET", `/api/projects/${id}`);
const textsOf = async (id: number) => (await server.log(id)).map(({ text }) => text);

describe("a project whose pipeline is in its repository", () => {
  test("runs the file of the commit, and shows it", async () => {
    const { commit, id } = await made(
      "build:\n  - name: test\n    script: echo built > out.txt\ndeploy:\n  - script: cat out.txt\n",
    );
    expect(await read(id)).toMatchObject({
      pipelineFile: { path: file, ports: {}, withoutNetwork: [] },
      fileRead: null,
      pipeline: { build: [], deploy: [], start: [] },
    });
    const planned = await server.run(id);
    expect(planned.stages.map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
    const task = await server.reach(planned.id, "success");
    expect(
      task.stages.map(({ name, state, steps }) => [name, state, steps.map((each) => each.name)]),
    ).toEqual([
      ["build", "success", ["test"]],
      ["deploy", "success", ["deploy"]],
      ["start", "skipped", []],
    ]);
    expect(await textsOf(task.id)).toEqual(expect.arrayContaining([`pipeline of ${file}`, "built"]));
    const shown = await read(id);
    expect(shown.fileRead).toMatchObject({ taskId: task.id, commit, ref: "refs/heads/main" });
    expect(shown.pipeline.deploy).toMatchObject([{ name: "deploy", script: "cat out.txt" }]);
  });

  test("keeps what it deployed while another branch is only built, and that is no change by a person", async () => {
    const { repository, id } = await made("deploy: [{ script: echo one }]\n");
    await server.reach((await server.run(id)).id, "success");
    const shown = await read(id);
    const other = await repository.push({ [file]: "build: [{ script: echo other }]\n" }, { branch: "other" });
    const task = await server.reach((await server.run(id, { ref: "other" })).id, "success");
    expect([task.commit, task.stages.map(({ state }) => state)]).toEqual([
      other,
      ["success", "skipped", "skipped"],
    ]);
    const after = await read(id);
    expect([after.pipeline, after.revision]).toEqual([shown.pipeline, shown.revision]);
  });

  test.each<[string, string | null, string]>([
    [
      "a wrong file",
      "build:\n  - scirpt: touch ran\nlabels: [gpu]\n",
      `${file}, line 2, column 5: build.0.scirpt is no field here; did you mean script? (and 1 more; the log has them all)`,
    ],
    ["no file", null, `The commit has no file ${file}, which says the pipeline of the project.`],
    ["a large file", `# ${"x".repeat(200_000)}\n`, `${file} has more than 200000 bytes.`],
  ])("fails before any step with %s", async (_what, text, reason) => {
    const { commit, id } = await made(text);
    const task = await server.reach((await server.run(id)).id, "failed");
    expect(task).toMatchObject({ commit, reason });
    expect(task.stages.map(({ state }) => state)).toEqual(["skipped", "skipped", "skipped"]);
  });

  test("does not follow a link to a file of the machine", async () => {
    const { repository, id } = await made("build: []\n");
    const copy = await repository.git("rev-parse", "--show-toplevel");
    await repository.git("rm", "-q", file);
    symlinkSync("/etc/hostname", `${copy}/${file}`);
    await repository.push({});
    const task = await server.reach((await server.run(id)).id, "failed");
    expect(task.reason).toBe(
      `${file} is no plain file of the repository, but a link, a folder or a submodule.`,
    );
  });

  test("refuses what the project does not allow, at its place in the file", async () => {
    const web = "start:\n  web:\n    command: sleep 60\n";
    const cases: [string, object, string][] = [
      [
        `${web}    routes: [{ domains: [evil.example.com] }]\n`,
        { allowedDomains: ["shop.example.com"] },
        "line 4, column 26: start.web.routes.0.domains.0 is not among the allowed domains (shop.example.com)",
      ],
      [
        `${web}    routes: [{ domains: [shop.example.com] }]\n`,
        {
          allowedDomains: ["shop.example.com"],
          environments: [
            { name: "live", refs: ["main"], domains: { "shop.example.com": "evil.example.com" } },
          ],
        },
        "line 4, column 26: start.web.routes.0.domains.0 is not among the allowed domains (shop.example.com)",
      ],
      [
        `${web}    limits:\n      memoryMb: 512\n`,
        { limits: { memoryMb: 256 } },
        "line 5, column 17: start.web.limits.memoryMb must be at most 256, which is the limit of the project",
      ],
      [web, { pipeline: { from: "repository", ports: { api: 80 } } }, "column 3: start has no service api"],
    ];
    for (const [text, more, reason] of cases) {
      const { id } = await made(text, more);
      const task = await server.reach((await server.run(id)).id, "failed");
      expect(task.reason).toContain(reason);
      expect((await read(id)).fileRead).toBeNull();
    }
  });

  test("refuses a domain that another project has, and leaves its own", async () => {
    const domain = `a${crypto.randomUUID().slice(0, 8)}.example.com`;
    const text = `start:\n  web:\n    command: sleep 60\n    routes: [{ domains: [${domain}] }]\n`;
    await server.project(
      "https://git.example.com/other.git",
      {},
      {
        pipeline: { start: { web: { command: "x", routes: [{ domains: [domain] }] } } },
      },
    );
    const { id } = await made(text);
    const task = await server.reach((await server.run(id)).id, "failed");
    expect(task.reason).toContain("line 4, column 26: start.web.routes.0.domains.0 cannot be used: another");
    expect((await read(id)).pipeline.start).toEqual([]);
  });

  test("of a fork has the file of the target branch", async () => {
    const { repository, id } = await made("build: [{ script: echo of main }]\n");
    await repository.push({ [file]: "build: [{ script: echo of the fork }]\n" }, { branch: "fork" });
    await repository.git("push", "-q", "origin", "HEAD:refs/pull/7/head");
    const task = await server.reach((await server.run(id, { ref: "refs/pull/7/head" })).id, "success");
    const texts = await textsOf(task.id);
    expect(texts).toEqual(expect.arrayContaining([`pipeline of ${file} of main`, "of main"]));
    expect(texts).not.toContain("of the fork");
    // A branch of the repository has its own.
    const own = await server.reach((await server.run(id, { ref: "fork" })).id, "success");
    expect(await textsOf(own.id)).toContain("of the fork");
  });

  test("is approved with what the file changes, and has it once it is deployed", async () => {
    const { repository, id } = await made("deploy: [{ script: echo one }]\n", {
      deploy: { approval: "required" },
    });
    const first = await server.reach((await server.run(id)).id, "waiting");
    expect((await read(id)).fileRead).toBeNull();
    await server.admin.expect(200, "POST", `/api/tasks/${first.id}/approve`, {});
    await server.reach(first.id, "success");
    expect((await read(id)).fileRead).toMatchObject({ taskId: first.id });
    await repository.push({ [file]: "deploy: [{ script: echo two }]\ndata: [uploads]\n" });
    const second = await server.reach((await server.run(id)).id, "waiting");
    const changes = await server.admin.expect<{ settings: object[] }>(
      ...[200, "GET", `/api/tasks/${second.id}/changes`],
    );
    expect(changes.settings).toEqual([
      { setting: "pipeline.data", serving: null, task: "uploads" },
      { setting: "stages.deploy.script", serving: "echo one", task: "echo two" },
    ]);
    await server.admin.expect(200, "POST", `/api/tasks/${second.id}/approve`, {});
    await server.reach(second.id, "success");
    expect(await textsOf(second.id)).toContain("two");
    expect((await read(id)).pipeline.deploy).toMatchObject([{ script: "echo two" }]);
    // What deploys nothing needs no approval.
    await repository.push({ [file]: "build: [{ script: echo built }]\n" }, { branch: "other" });
    await server.reach((await server.run(id, { ref: "other" })).id, "success");
    const back = await server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/rollback`, {});
    await server.reach(back.id, "waiting");
    await server.admin.expect(200, "POST", `/api/tasks/${back.id}/approve`, {});
    await server.reach(back.id, "success");
    expect(await textsOf(back.id)).toContain("one");
  });

  test("deploys nothing for a task that was planned without a deploy before the file counted", async () => {
    const { id } = await made(
      "build: [{ script: echo of the file }]\ndeploy: [{ script: echo deployed }]\n",
      {
        deploy: { approval: "required" },
      },
    );
    const change = (pipeline: object) =>
      server.admin.expect(200, "PATCH", `/api/projects/${id}`, { pipeline });
    const gate = `${server.scratch}/planned-gate`;
    const script = `while [ ! -e ${gate} ]; do sleep 0.02; done`;
    await change({ from: "project", build: [{ script }], deploy: [], start: [] });
    await server.reach((await server.run(id)).id, "running");
    const queued = await server.run(id);
    expect(queued.stages.map(({ state }) => state)).toEqual(["pending", "skipped", "skipped"]);
    await change({ from: "repository" });
    await Bun.write(gate, "");
    const task = await server.reach(queued.id, "success", "waiting");
    expect(task.stages.map(({ state }) => state)).toEqual(["success", "skipped", "skipped"]);
    const texts = await textsOf(task.id);
    expect(texts).toContain("of the file");
    expect(texts).not.toContain("deployed");
  });
});
