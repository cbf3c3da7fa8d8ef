import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { verifyBuilt } from "../../src/runner/run/built-workspace.ts";
import { writeManifest } from "../../src/runner/workspace/manifest.ts";
import { openWorkspaces } from "../../src/runner/workspace/workspace.ts";
import { answer } from "../support/approval-scene.ts";
import { silentLog } from "../support/buses.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";

const { server, repository } = await setUpDeploy({ "runner.engine": "none" });
await repository.push({ "attack.txt": "x\n" }, { branch: "attack" });

const onlyMain = { deploy: { approval: "required", branches: ["main"] } };
const workOf = (projectId: number) => join(server.runnerDir, "work", `project-${projectId}`);

/** Runs the build of a branch that needs no approval. */
const runAttack = async (projectId: number) => {
  const { id } = await server.run(projectId, {
    ref: "refs/heads/attack",
    actions: { build: true, deploy: false, start: false },
  });
  await server.reach(id, "success");
  return textOf(await server.log(id));
};

describe("a workspace that waits for an approval", () => {
  const attacks = {
    "changes a file": "echo foreign >$f",
    "changes a file and its time back": 'm=$(stat -c %y $f); echo foreign >$f; touch -d "$m" $f',
    "replaces a file": "cp -p $f $f.new; echo foreign >$f.new; mv $f.new $f",
    "adds a file": "echo foreign >$d/added",
    "removes a file": "rm $f",
    "removes a file and the manifest": "rm $f $d/../../manifest.json",
    "replaces the folder": "cp -a $d $d.new; rm -r $d; mv $d.new $d; echo foreign >$f",
  };
  test.each(Object.entries(attacks))("is not deployed if another build %s", async (_name, attack) => {
    const ran = join(server.scratch, `ran-${Bun.randomUUIDv7()}`);
    const build = `if [ -e attack.txt ]; then
      for d in ../../task-*/source/out; do f=$d/app; case $d in *"$CI_TASK_ID"-*) ;; *) ${attack} ;; esac; done
    else mkdir out; echo own >out/app; fi`;
    const projectId = await server.project(
      repository.url,
      { build, deploy: `cat out/app >${ran}` },
      onlyMain,
    );
    const task = await server.reach((await server.run(projectId)).id, "waiting");
    await runAttack(projectId);
    await answer(server.admin, task.id, "approve");
    const ended = await server.reach(task.id);
    expect(existsSync(ran) ? readFileSync(ran, "utf8") : "did not run").toBe("did not run");
    expect(ended.state).toBe("failed");
    expect(ended.reason).toMatch(/was changed after its build \(.*(out|manifest\.json)/);
  });

  test("is deployed unchanged, with links, odd names and files of several names", async () => {
    const ran = join(server.scratch, "ran-odd");
    const store = join(server.scratch, "store");
    const build = `mkdir -p out ${store}; echo own >out/app; ln -s app out/link; ln -s nowhere out/dangling
      echo x >"out/$(printf 'a\\nb')"; echo linked >${store}/lib; ln ${store}/lib out/lib; mkfifo out/pipe`;
    const deploy = `cat out/link out/lib >${ran}; ls out | wc -l >>${ran}`;
    const projectId = await server.project(repository.url, { build, deploy }, onlyMain);
    const task = await server.reach((await server.run(projectId)).id, "waiting");
    const [folder = ""] = readdirSync(workOf(projectId)).filter((name) => name.startsWith("task-"));
    expect(statSync(join(workOf(projectId), folder, "source/out/lib")).nlink).toBe(1);
    expect(statSync(join(workOf(projectId), folder)).mode & 0o777).toBe(0o700);
    // A later build of a project with the same store, as pnpm has one.
    await Bun.write(join(store, "lib"), "foreign\n");
    await answer(server.admin, task.id, "approve");
    expect(await server.reach(task.id)).toMatchObject({ state: "success" });
    expect(readFileSync(ran, "utf8").split("\n").slice(0, 2)).toEqual(["own", "linked"]);
  });
});

describe("the workspace of a release that was approved", () => {
  /** A project whose second release serves. The third deploy fails. */
  async function twoReleases(deploy: string) {
    const ran = join(server.scratch, `ran-${Bun.randomUUIDv7()}`);
    const build = `if [ -e attack.txt ]; then for f in ../../task-*/source/out/app; do echo foreign >$f; done
      else mkdir out; echo own >out/app; echo seed >out/data; fi`;
    const scripts = { build, deploy: `cat out/app >>${ran}; ${deploy}` };
    const projectId = await server.project(repository.url, scripts, onlyMain);
    const approved = async (id: number) => {
      await server.reach(id, "waiting");
      await answer(server.admin, id, "approve");
      return server.reach(id);
    };
    const first = await approved((await server.run(projectId)).id);
    const second = await approved((await server.run(projectId)).id);
    expect([first.state, second.state]).toEqual(["success", "success"]);
    rmSync(ran);
    const rollBack = () =>
      server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${projectId}/rollback`, {});
    return { projectId, first, ran: () => readFileSync(ran, "utf8"), rollBack, approved };
  }

  test("is deployed again, although its own scripts and service have changed it", async () => {
    const { ran, rollBack, approved } = await twoReleases("date >>out/data; touch out/log");
    const { id } = await rollBack();
    expect(await approved(id)).toMatchObject({ state: "success" });
    expect(ran()).toBe("own\n");
    expect(textOf(await server.log(id))).toContain("from the kept workspace of task");
  });

  test("is built again, and approved again, if another build has changed it", async () => {
    const { projectId, first, ran, rollBack, approved } = await twoReleases("true");
    await runAttack(projectId);
    const { id } = await rollBack();
    await server.reach(id, "waiting");
    await answer(server.admin, id, "approve");
    await eventually("its approval is requested again", async () =>
      textOf(await server.log(id)).includes("its approval is requested again"),
    );
    expect(await approved(id)).toMatchObject({ state: "success" });
    expect(ran()).toBe("own\n");
    expect(textOf(await server.log(id))).toMatch(
      new RegExp(`workspace of task ${first.id} was changed after its deploy \\(out/app\\)`),
    );
  });

  test("does not come back by itself if another build has changed it", async () => {
    const { projectId, ran, approved } = await twoReleases("true");
    await runAttack(projectId);
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { deploy: { script: "exit 3" } },
    });
    const failed = await approved((await server.run(projectId)).id);
    expect(failed).toMatchObject({ state: "failed", rollback: { state: "failed" } });
    expect(failed.reason).toContain("was changed after its deploy (out/app)");
    expect(() => ran()).toThrow();
  });

  test("is compared at every attempt of its first deploy", async () => {
    const workspaces = openWorkspaces({
      ...{ root: join(server.scratch, "attempts"), former: null, knownHosts: "", policy: "live" },
      ...{ clock: systemClock, log: silentLog },
    });
    const built = await workspaces.open(1, 1, 1);
    mkdirSync(built.source);
    writeFileSync(join(built.source, "app"), "own");
    await writeManifest(built.folder);
    await built.close({ state: "waiting", until: Date.now() + 60_000 });
    const attempt = async () => {
      const workspace = await workspaces.reopen(1, 1, 1);
      return workspace && (await verifyBuilt(workspace))?.reason;
    };
    expect(await attempt()).toBeUndefined();
    writeFileSync(join(built.source, "app"), "foreign");
    expect(await attempt()).toMatchObject({ code: "workspace_changed" });
  });
});

describe("a cache", () => {
  const build = `echo "seen=$(cat deps/tool 2>/dev/null)"
    if [ -e attack.txt ]; then echo foreign >deps/tool; else [ -s deps/tool ] || echo own >deps/tool; fi`;

  test("of other refs is not that of protected ones, and neither is in what waits, deploys or serves", async () => {
    const ran = join(server.scratch, "ran-cached");
    const deploy = `cat deps/tool >${ran}; readlink deps >>${ran} || echo copy >>${ran}; echo changed >deps/tool`;
    const projectId = await server.project(
      repository.url,
      { build, deploy },
      { ...onlyMain, cache: ["deps"] },
    );
    expect(await runAttack(projectId)).toMatch(/^seen=$/m);
    const task = await server.reach((await server.run(projectId)).id, "waiting");
    expect(textOf(await server.log(task.id))).not.toContain("seen=foreign");
    expect(await runAttack(projectId)).toContain("seen=foreign");
    const shared = join(server.runnerDir, "shared");
    await Bun.write(join(shared, `protected-${projectId}`, "deps/tool"), "later\n");
    await answer(server.admin, task.id, "approve");
    expect(await server.reach(task.id)).toMatchObject({ state: "success" });
    expect(readFileSync(ran, "utf8")).toBe("own\ncopy\n");
    // The deploy wrote to its copy.
    expect(readFileSync(join(shared, `protected-${projectId}`, "deps/tool"), "utf8")).toBe("later\n");
  });

  test("that every branch writes is not used by a tag or another ref whose deploy needs an approval", async () => {
    const ran = join(server.scratch, "ran-tagged");
    const projectId = await server.project(
      repository.url,
      { build, deploy: `cat deps/tool >${ran}` },
      { deploy: { approval: "required" }, cache: ["deps"] },
    );
    await runAttack(projectId);
    expect(await runAttack(projectId)).toContain("seen=foreign");
    await repository.git("push", "-q", "origin", "HEAD~1:refs/tags/v1");
    const { id } = await server.run(projectId, { ref: "refs/tags/v1" });
    await server.reach(id, "waiting");
    expect(textOf(await server.log(id))).toContain("the cache is not used");
    await answer(server.admin, id, "approve");
    expect(await server.reach(id)).toMatchObject({ state: "success" });
    expect(readFileSync(ran, "utf8")).toBe("own\n");
  });

  test("is a copy for the deploy of a task without approval too, and of each merge request its own", async () => {
    const deploy = "test ! -L deps && cat deps/tool";
    const projectId = await server.project(repository.url, { build, deploy }, { cache: ["deps"] });
    const { id } = await server.run(projectId);
    expect(await server.reach(id)).toMatchObject({ state: "success" });
    for (const ref of ["refs/pull/7/head", "refs/pull/8/head"]) {
      await repository.git("push", "-q", "origin", `HEAD:${ref}`);
      const fork = await server.run(projectId, {
        ref,
        actions: { build: true, deploy: false, start: false },
      });
      await server.reach(fork.id, "success");
      expect(textOf(await server.log(fork.id))).toMatch(/^seen=$/m);
    }
    const names = readdirSync(join(server.runnerDir, "shared")).filter((name) =>
      name.startsWith(`fork-${projectId}-`),
    );
    expect(names.length).toBe(2);
  });

  test("whose folder a script replaced by a dangling link or a file works for later tasks", async () => {
    const projectId = await server.project(
      repository.url,
      { build: "echo 1 >>deps/count; cat deps/count" },
      { cache: ["deps"] },
    );
    const kept = join(server.runnerDir, `shared/protected-${projectId}/deps`);
    for (const replace of [
      () => {},
      () => symlinkSync(join(server.scratch, "nowhere"), kept),
      () => void Bun.spawnSync(["touch", kept]),
    ]) {
      rmSync(kept, { recursive: true, force: true });
      if (existsSync(join(kept, ".."))) replace();
      const { id } = await server.run(projectId);
      expect(await server.reach(id)).toMatchObject({ state: "success" });
      expect(statSync(kept).isDirectory()).toBe(true);
    }
  });
});
