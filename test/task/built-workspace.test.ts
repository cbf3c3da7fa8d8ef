import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { answer } from "../support/approval-scene.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy({ "runner.engine": "none" });
await repository.push({ "attack.txt": "x\n" }, { branch: "attack" });

const onlyMain = { deploy: { approval: "required", branches: ["main"] } };
const workOf = (projectId: number) => join(server.runnerDir, "releases", String(projectId));

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
  test("is deployed unchanged, with links and odd names", async () => {
    const ran = join(server.scratch, "ran-odd");
    const build = `mkdir -p out; echo own >out/app; ln -s app out/link; ln -s nowhere out/dangling
      echo x >"out/$(printf 'a\\nb')"; mkfifo out/pipe`;
    const deploy = `cat out/link >${ran}; ls out | wc -l >>${ran}`;
    const projectId = await server.project(repository.url, { build, deploy }, onlyMain);
    const task = await server.reach((await server.run(projectId)).id, "waiting");
    const [folder = ""] = readdirSync(workOf(projectId));
    expect(statSync(join(workOf(projectId), folder)).mode & 0o777).toBe(0o700);
    await answer(server.admin, task.id, "approve");
    expect(await server.reach(task.id)).toMatchObject({ state: "success" });
    expect(readFileSync(ran, "utf8").split("\n").slice(0, 1)).toEqual(["own"]);
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
