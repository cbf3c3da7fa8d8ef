import { describe, expect, test } from "bun:test";
import { runnerFeatures } from "../../src/runner/protocol.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";

const { server, repository } = await setUpDeploy({ "runner.enabled": false });

/** What a person registers for a runner of an earlier version, which reports `user`. */
const levelOf = (reported: unknown) => (reported === "user" ? "sandbox" : reported);

/** A runner by hand: `says` is what it reports with each claim, which its registration believes unless it is given. */
async function runner(
  name: string,
  says: Record<string, unknown>,
  registration: Record<string, unknown> = {},
) {
  const { id, token } = await server.admin.expect<{ id: number; token: string }>(
    201,
    "POST",
    "/api/runners",
    { name, trustedIsolation: levelOf(says.isolation), ...registration },
  );
  const ask = (path: string, signal?: AbortSignal) =>
    fetch(`${server.url}/api/runner/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        labels: [],
        concurrency: 1,
        version: "9.9.9",
        features: runnerFeatures,
        ...says,
      }),
      ...(signal ? { signal } : {}),
    });
  await ask("hello");
  return {
    id,
    async claim(withinMs = 20_000): Promise<{ taskId: number; stages: Record<string, unknown>[] } | null> {
      const answer = await ask("claim", AbortSignal.timeout(withinMs)).catch(() => null);
      return answer?.status === 200 ? ((await answer.json()) as { taskId: number; stages: [] }) : null;
    },
    disable: () => server.admin.expect(200, "PATCH", `/api/runners/${id}`, { disabled: true }),
  };
}

const waitingOf = async (id: number) => (await server.task(id)).waiting ?? "";

describe("a project that requires isolation", () => {
  test("waits with that reason while no runner has it, and goes to a runner that has it", async () => {
    const plain = await runner("plain", {});
    const projectId = await server.project(repository.url, { build: "true" }, { isolation: "user" });
    expect(await server.admin.expect(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
      isolation: "sandbox",
    });
    const { id } = await server.run(projectId);
    await eventually("it waits with the reason", async () =>
      (await waitingOf(id)).includes("isolation sandbox"),
    );
    expect(await waitingOf(id)).toContain("set runner.isolation on a runner");
    await eventually("the log has the reason too", async () =>
      textOf(await server.log(id)).includes("requires a runner with isolation sandbox"),
    );
    expect(await plain.claim(1500)).toBeNull();
    const isolated = await runner("isolated", { isolation: "user" }, { trustedIsolation: "sandbox" });
    expect((await isolated.claim())?.taskId).toBe(id);
    const shown = await server.admin.expect<Record<string, unknown>>(
      200,
      "GET",
      `/api/runners/${isolated.id}`,
    );
    expect(shown).toMatchObject({ isolation: "sandbox", isolated: true, containers: false });
    await plain.disable();
    await isolated.disable();
  });
});

describe("a runner that reports more isolation than its registration believes", () => {
  const reported = { isolation: "container", features: [...runnerFeatures, "project-users"] };
  const shownOf = (id: number) =>
    server.admin.expect<Record<string, unknown>>(200, "GET", `/api/runners/${id}`);

  test("gets no task that requires it, and the task says so, until an admin believes it", async () => {
    const boastful = await runner("boastful", reported, { trustedIsolation: "none" });
    expect(await shownOf(boastful.id)).toMatchObject({
      isolation: "none",
      isolated: false,
      projectUsers: false,
      reportedIsolation: "container",
      trustedIsolation: "none",
    });
    const projectId = await server.project(repository.url, { build: "true" }, { isolation: "container" });
    const { id } = await server.run(projectId);
    expect(await boastful.claim(1500)).toBeNull();
    expect(await waitingOf(id)).toBe(
      "waiting: the project requires a runner with isolation container, which boastful reports, but an administrator has not confirmed it; confirm it under Runners",
    );
    const path = `/api/runners/${boastful.id}`;
    expect(await server.admin.expect(200, "PATCH", path, { trustedIsolation: "container" })).toMatchObject({
      isolation: "container",
      isolated: true,
    });
    expect((await boastful.claim())?.taskId).toBe(id);
    await boastful.disable();
  });

  test("is named by warnings about approvals and by the list of runners that are not isolated", async () => {
    const believed = await runner("believed", reported, { trustedIsolation: "container" });
    const doubted = await runner("doubted", reported);
    await server.admin.expect(200, "PATCH", `/api/runners/${doubted.id}`, { trustedIsolation: "none" });
    await server.admin.expect(201, "POST", "/api/runners", { name: "never connected" });
    const isolation = await server.admin.expect<object>(200, "GET", "/api/runners/isolation");
    expect(isolation).toMatchObject({ notIsolated: ["doubted"] });
    const projectId = await server.project(
      repository.url,
      { build: "true" },
      { deploy: { approval: "required" } },
    );
    expect(await server.admin.expect(200, "GET", `/api/projects/${projectId}`)).toMatchObject({
      warnings: [expect.stringContaining(": on doubted, ")],
    });
    await believed.disable();
    await doubted.disable();
  });

  test("is believed nothing if its registration does not say so, and a weaker report counts", async () => {
    const unsaid = await runner("unsaid", reported, { trustedIsolation: undefined });
    expect(await shownOf(unsaid.id)).toMatchObject({ isolation: "none", trustedIsolation: "none" });
    const modest = await runner("modest", {}, { trustedIsolation: "container" });
    expect(await shownOf(modest.id)).toMatchObject({ isolation: "none", trustedIsolation: "container" });
    await unsaid.disable();
    await modest.disable();
  });
});

describe("a project with an image", () => {
  test("is never given to a runner without containers", async () => {
    const older = await runner("older", {});
    const projectId = await server.project(repository.url, { build: "true" }, { image: "node:22" });
    const { id } = await server.run(projectId);
    await eventually("it waits with the reason", async () =>
      (await waitingOf(id)).includes("can run containers"),
    );
    expect(await older.claim(1500)).toBeNull();
    const equipped = await runner("equipped", { containers: true });
    const given = await equipped.claim();
    expect(given).toMatchObject({ taskId: id, stages: [{ name: "build", steps: [{ image: "node:22" }] }] });
    await older.disable();
    await equipped.disable();
  });

  test("of a stage alone counts too; a stage without a script does not", async () => {
    const older = await runner("older still", {});
    const needing = { stages: { build: { script: "true", image: "alpine:3" } } };
    const waiting = await server.run(await server.project(repository.url, {}, needing));
    expect(await waitingOf(waiting.id)).toContain("no runner it may use can run containers");
    expect(await older.claim(1500)).toBeNull();
    await server.admin.expect(200, "POST", `/api/tasks/${waiting.id}/cancel`);
    const free = { stages: { build: { script: "true" }, deploy: { script: "", image: "alpine:3" } } };
    const { id } = await server.run(await server.project(repository.url, {}, free));
    expect((await older.claim())?.taskId).toBe(id);
    await older.disable();
  });

  test("a change of the image changes who may run it", async () => {
    const older = await runner("without engine", {});
    const projectId = await server.project(repository.url, { build: "true" }, { image: "node:22" });
    const { id } = await server.run(projectId);
    expect(await older.claim(1500)).toBeNull();
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { image: "" });
    expect((await older.claim())?.taskId).toBe(id);
    await older.disable();
  });
});

describe("a project with approvals", () => {
  test("warns while a runner that may take it lets other scripts change its workspace", async () => {
    const approval = { deploy: { approval: "required" } };
    const projectId = await server.project(repository.url, { build: "true" }, approval);
    const warnings = async () =>
      (await server.admin.expect<{ warnings: string[] }>(200, "GET", `/api/projects/${projectId}`)).warnings;
    const expected = (name: string) =>
      expect.stringContaining(`Approvals do not protect this project from other scripts: on ${name}, `);
    const safe = await runner("a user each", {
      isolation: "sandbox",
      features: [...runnerFeatures, "project-users"],
    });
    const sandboxed = await runner("sandboxed", {
      isolation: "sandbox",
      features: [...runnerFeatures, "sandbox"],
    });
    const contained = await runner("contained", { isolation: "container" });
    expect(await warnings()).toEqual([]);
    const shared = await runner("one user", { isolation: "sandbox" });
    expect(await warnings()).toEqual([expected("one user")]);
    const open = await runner("open", {});
    expect(await warnings()).toEqual([expected("one user, open")]);
    const isolation = { isolation: "container" };
    expect(await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, isolation)).toMatchObject({
      warnings: [],
    });
    expect(
      await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { isolation: "none" }),
    ).toMatchObject({ warnings: [expected("one user, open")] });
    for (const each of [safe, sandboxed, contained, shared, open]) await each.disable();
  });

  test("does not warn of runners that never take it", async () => {
    const gpu = await runner("gpu only", { labels: ["gpu"] }, { labels: ["gpu"] });
    const engineless = await runner("engineless", {});
    const projectId = await server.project(
      repository.url,
      { build: "true" },
      { deploy: { approval: "required" }, image: "node:22" },
    );
    const path = `/api/projects/${projectId}`;
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({ warnings: [] });
    expect(await server.admin.expect(200, "PATCH", path, { image: "" })).toMatchObject({
      warnings: [expect.stringContaining(": on engineless, ")],
    });
    for (const each of [gpu, engineless]) await each.disable();
  });
});

describe("what a project may ask for", () => {
  test("is read back, changed field by field, and checked", async () => {
    const asked = {
      image: "ghcr.io/shop/ci:1",
      isolation: "container",
      cache: [".npm"],
      limits: { memoryMb: 512, cpus: 1.5 },
    };
    const id = await server.project(repository.url, { build: "true" }, asked);
    const path = `/api/projects/${id}`;
    const limits = { memoryMb: 512, cpus: 1.5, processes: null, nice: 0 };
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({ ...asked, limits });
    await server.admin.expect(200, "PATCH", path, {
      limits: { nice: 10 },
      stages: { build: { image: "alpine", network: "none" } },
    });
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({
      image: asked.image,
      limits: { ...limits, nice: 10 },
      stages: { build: { script: "true", image: "alpine", network: "none" } },
    });
    await server.admin.expect(200, "PATCH", path, { stages: { build: { image: "", network: "bridge" } } });
    const { stages } = await server.admin.expect<{ stages: { build: object } }>(200, "GET", path);
    expect(stages.build).toEqual({ script: "true", timeout: null });
    const wrong = [
      ["image", "--privileged"],
      ["image", "alpine --privileged"],
      ["image", "-v/:/host"],
      ["image", "a,b"],
      ["cache", ["../other"]],
      ["cache", ["/etc"]],
      ["cache", [".git/hooks"]],
      ["cache", ["a//b"]],
      ["isolation", "vm"],
      ["limits", { memoryMb: 1 }],
      ["limits", { cpus: 0 }],
      ["volumes", ["/:/host"]],
      ["privileged", true],
    ] as const;
    for (const [field, value] of wrong)
      expect(await server.admin.expect(422, "PATCH", path, { [field]: value })).toMatchObject({
        error: { code: expect.any(String) },
      });
  });
});
