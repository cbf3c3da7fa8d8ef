import { describe, expect, test } from "bun:test";
import { guardedProject } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { registerRunner } from "../support/protocol-runner.ts";

const { server, repository } = await setUpDeploy();
const { admin } = server;

/** A project whose stages print the variables TOKEN and SHARED, as far as they are set, with a space in between. */
async function printingProject(more: Record<string, unknown> = {}): Promise<number> {
  const script = `echo "$CI_STAGE: $(echo "\${TOKEN-unset}" | cut -c2-) $(echo "\${SHARED-unset}" | cut -c2-)"`;
  return server.project(repository.url, { build: script, deploy: script, start: script }, more);
}
const put = (id: number, name: string, body: object, status = 204) =>
  admin.expect<{ error: { message: string } }>(status, "PUT", `/api/projects/${id}/secrets/${name}`, body);
const texts = async (id: number) => (await server.log(id)).map(({ text }) => text);
interface Shown {
  secrets: { name: string; scope: string; isScopeChosen: boolean; as: string }[];
  warnings: string[];
}
const shown = (id: number) => admin.expect<Shown>(200, "GET", `/api/projects/${id}`);

describe("a secret of deploy and start", () => {
  test("does not reach the build; one of all stages does; both are masked everywhere", async () => {
    const id = await printingProject();
    await put(id, "TOKEN", { value: "t-deploy-only", scope: "deploy" });
    await put(id, "SHARED", { value: "s-everywhere", scope: "all" });
    expect((await shown(id)).secrets).toEqual([
      { name: "SHARED", scope: "all", isScopeChosen: true, as: "variable" },
      { name: "TOKEN", scope: "deploy", isScopeChosen: true, as: "variable" },
    ]);
    const task = await server.reach((await server.run(id)).id, "success");
    const lines = await texts(task.id);
    expect(lines).toContain("build: nset -everywhere");
    expect(lines).toContain("deploy: -deploy-only -everywhere");
    expect(lines).toContain("start: -deploy-only -everywhere");
  });

  test("keeps its scope with a new value, and needs its value to be given to builds", async () => {
    const id = await printingProject();
    const path = `/api/projects/${id}/secrets/TOKEN`;
    await put(id, "TOKEN", { value: "t-first-value" });
    await admin.expect(204, "PATCH", path, { scope: "deploy" });
    await put(id, "TOKEN", { value: "t-second-value" });
    expect((await shown(id)).secrets).toEqual([
      { name: "TOKEN", scope: "deploy", isScopeChosen: true, as: "variable" },
    ]);
    const refused = await admin.expect<{ error: { message: string } }>(409, "PATCH", path, { scope: "all" });
    expect(refused.error.message).toContain("store its value again");
    await put(id, "TOKEN", { value: "t-third-value", scope: "all" });
    expect((await shown(id)).secrets).toEqual([
      { name: "TOKEN", scope: "all", isScopeChosen: true, as: "variable" },
    ]);
    await admin.expect(404, "PATCH", `/api/projects/${id}/secrets/OTHER`, { scope: "deploy" });
    await admin.expect(422, "PATCH", path, { scope: "build" });
  });

  test("is not sent to a runner that builds a deploy which still needs its approval", async () => {
    const label = "by-hand";
    const runner = await registerRunner(server.url, admin, {
      ...{ name: "by hand", labels: [label] },
    });
    const id = await printingProject({ labels: [label], deploy: { approval: "required" } });
    await put(id, "TOKEN", { value: "t-deploy-only", scope: "deploy" });
    await put(id, "SHARED", { value: "s-everywhere", scope: "all" });
    await server.run(id);
    const held = await runner.claim();
    if (!held) throw new Error("nothing was claimed");
    expect(held.secrets).toEqual({ SHARED: "s-everywhere" });
    expect(JSON.stringify(held)).not.toContain("t-deploy-only");
    await runner.call("finish", held, { state: "failed", reason: "" });
  });
});

describe("a project with approvals", () => {
  test("warns of secrets for which nobody has chosen; the switch changes no scope", async () => {
    const { id } = await guardedProject(server, { url: repository.url, dataDir: server.dataDir });
    await put(id, "TOKEN", { value: "t-as-before" });
    await put(id, "SHARED", { value: "s-chosen", scope: "all" });
    const secrets = [
      { name: "SHARED", scope: "all", isScopeChosen: true, as: "variable" },
      { name: "TOKEN", scope: "all", isScopeChosen: false, as: "variable" },
    ];
    const before = await shown(id);
    expect(before.secrets).toEqual(secrets);
    expect(before.warnings.join()).toContain("Builds need no approval, and they get these secrets: TOKEN.");
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "none" } });
    const without = await shown(id);
    expect(without.secrets).toEqual(secrets);
    expect(without.warnings.join()).not.toContain("they get these secrets");
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "required" } });
    expect((await shown(id)).secrets).toEqual(secrets);
    await admin.expect(204, "PATCH", `/api/projects/${id}/secrets/TOKEN`, { scope: "all" });
    expect((await shown(id)).warnings.join()).not.toContain("they get these secrets");
  });
});

test("all secrets of a project have a limit together, which names it", async () => {
  const id = await printingProject();
  const value = "x".repeat(60 * 1024);
  for (let index = 0; index < 8; index += 1) await put(id, `LARGE_${index}`, { value });
  const refused = await put(id, "LARGE_8", { value }, 409);
  expect(refused.error.message).toContain("540 KB");
  expect(refused.error.message).toContain("512 KB together");
  await put(id, "LARGE_7", { value: "x".repeat(65_536) });
  await admin.expect(204, "DELETE", `/api/projects/${id}/secrets/LARGE_0`);
  await put(id, "LARGE_8", { value });
});
