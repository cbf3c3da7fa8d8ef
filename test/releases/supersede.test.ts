import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpReleases } from "../support/releases-setup.ts";

const { server, gitUrl } = await setUpReleases();
const more = { supersede: "running" };

test("supersede: running ends a build, but waits for deploy and start", async () => {
  const gate = join(server.scratch, "gate");
  const wait = (name: string) =>
    `echo ${name}ing; while [ ! -f ${gate} ]; do sleep 0.05; done; echo ${name} done`;
  for (const name of ["deploy", "start"]) {
    const projectId = await server.project(gitUrl, { [name]: wait(name) }, more);
    const { id } = await server.run(projectId);
    await server.logged(id, `${name}ing`);
    const { id: newer } = await server.run(projectId);
    expect((await server.task(id)).state).toBe("running");
    await Bun.write(gate, "");
    expect(await server.reach(id, "success")).toMatchObject({ supersededBy: null });
    expect(textOf(await server.log(id))).toContain(`${name} done`);
    await server.reach(newer, "success");
    rmSync(gate);
  }
  const projectId = await server.project(gitUrl, { build: wait("build"), deploy: "true" }, more);
  const { id } = await server.run(projectId);
  await server.logged(id, "building");
  const { id: newer } = await server.run(projectId);
  expect(await server.reach(id, "canceled")).toMatchObject({ supersededBy: newer });
  await Bun.write(gate, "");
  await server.reach(newer, "success");
});
