import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { treeDigest } from "../../src/runner/workspace/tree-digest.ts";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo } from "../support/hook.ts";
import { setUpReleases, webBeside } from "../support/releases-setup.ts";

const { server, repository, gitUrl, change } = await setUpReleases();
const { admin } = server;

interface EnvironmentState {
  name: string;
  projectId: number;
  release: { taskId: number; commit: string; promotedFrom: number | null } | null;
  behind: { from: string; releases: number; authors: string[] } | null;
  services: { state: string } | null;
  runner: { name: string } | null;
}

const statesOf = async (projectId: number) =>
  (await admin.expect<{ items: EnvironmentState[] }>(200, "GET", `/api/projects/${projectId}/environments`))
    .items;

const placeOf = async (projectId: number, name: string) => {
  const found = (await statesOf(projectId)).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no environment ${name}`);
  return found;
};

/** What was recorded when the release that serves was sealed. */
async function digestOf(projectId: number): Promise<string> {
  const { items } = await admin.expect<{ items: { digest: string; isLive: boolean }[] }>(
    200,
    "GET",
    `/api/projects/${projectId}/releases`,
  );
  return items.find(({ isLive }) => isLive)?.digest ?? "none";
}

/** Its service answers with its place, and the build leaves a file that says when it ran. */
const where = `LISTEN=$PORT exec node -e "require('node:http').createServer((q, r) => r.end(JSON.stringify({ place: process.env.PLACE, secret: process.env.TOKEN, own: process.env.OWN, environment: process.env.CI_ENVIRONMENT, commit: process.env.CI_COMMIT }))).listen(process.env.PORT, '127.0.0.1')"`;

const environments = [
  { name: "staging", refs: ["main"], env: { PLACE: "staging" } },
  { name: "production", from: "staging", env: { PLACE: "production" } },
];

async function shop(more: Record<string, unknown> = {}): Promise<number> {
  return server.project(
    gitUrl,
    {},
    {
      pipeline: {
        build: [{ script: "date +%s%N >built.txt" }],
        start: { web: webBeside({ command: where }) },
      },
      env: { PLACE: "nowhere", OWN: "project" },
      environments,
      ...more,
    },
  );
}

const reached = async (projectId: number, body: Record<string, unknown> = {}) =>
  server.reach((await server.run(projectId, body)).id, "success");

interface Services {
  services: { release: { commit: string } | null; port: number | null }[];
}

async function answerAt(projectId: number): Promise<Record<string, string>> {
  const path = `/api/tasks?projectId=${projectId}`;
  const last = (await admin.expect<{ items: { commit: string }[] }>(200, "GET", path)).items[0]?.commit;
  let answered: Record<string, string> = {};
  await eventually("the service of the last commit is reported", async () => {
    const { services } = await admin.expect<Services>(200, "GET", `/api/projects/${projectId}/services`);
    const [web] = services;
    if (web?.release?.commit !== last || web?.port === null) return false;
    answered = (await (await fetch(`http://127.0.0.1:${web?.port}/`)).json()) as Record<string, string>;
    return true;
  });
  return answered;
}

const promote = (projectId: number, status = 201, places = { from: "staging", to: "production" }) =>
  admin.expect<{ id: number; error: { message: string } }>(
    status,
    "POST",
    `/api/projects/${projectId}/promote`,
    places,
  );

describe("environments of a project", () => {
  test("pushes to two branches reach two environments at once; a ref that none takes is ignored with that reason", async () => {
    const projectId = await shop({
      environments: [
        { name: "staging", refs: ["main"], env: { PLACE: "staging" } },
        { name: "production", refs: ["live/*", "refs/tags/v*"], env: { PLACE: "production" } },
      ],
    });
    const hook = `/api/projects/${projectId}/webhook`;
    await admin.expect(200, "PUT", hook, { enabled: true, events: ["push", "tag"], debounceSeconds: 0 });
    const { url } = await admin.expect<{ url: string }>(200, "GET", hook);
    await repository.push({}, { branch: "live/one" });
    const push = async (ref: string) =>
      (await deliverTo(url, { payload: { event: "push", ref } })).body as {
        status: string;
        code: string;
        reason: string;
        taskId?: number;
        deliveryId: number;
      };
    const [first, second, third] = await Promise.all([
      push("refs/heads/main"),
      push("refs/heads/live/one"),
      push("refs/heads/feature"),
    ]);
    expect(third).toMatchObject({ status: "ignored", code: "branch_not_matched" });
    expect(third?.reason).toBe(
      "No environment takes feature (staging: main; production: live/*, refs/tags/v*).",
    );
    await server.reach(first?.taskId ?? 0, "success");
    await server.reach(second?.taskId ?? 0, "success");
    const record = await admin.expect<{ environment: string; project_id: number; trace: { step: string }[] }>(
      200,
      "GET",
      `/api/webhooks/deliveries/${second?.deliveryId}`,
    );
    expect(record).toMatchObject({ environment: "production", project_id: projectId });
    expect(record.trace.find(({ step }) => step === "environment")).toMatchObject({
      result: "pass",
      pattern: "production",
    });
    const [staging, production] = await statesOf(projectId);
    expect(await answerAt(staging?.projectId ?? 0)).toMatchObject({ place: "staging", own: "project" });
    expect(await answerAt(production?.projectId ?? 0)).toMatchObject({ place: "production" });
    // The project's list of tasks has those of its environments.
    const list = await admin.expect<{ items: { id: number; projectName: string }[] }>(
      200,
      "GET",
      `/api/tasks?projectId=${projectId}`,
    );
    expect(list.items.map(({ projectName }) => projectName.split("/")[1]).sort()).toEqual([
      "production",
      "staging",
    ]);
  });

  test("promotion deploys the files that were tested, with the values of its own place, and builds nothing", async () => {
    const projectId = await shop();
    const staging = await placeOf(projectId, "staging");
    const production = await placeOf(projectId, "production");
    await admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, { value: "of-the-project" });
    await admin.expect(204, "PUT", `/api/projects/${production.projectId}/secrets/TOKEN`, {
      value: "of-production",
    });
    expect((await promote(projectId, 409)).error.message).toContain("Nothing serves");
    const built = await reached(projectId);
    expect(built.projectId).toBe(staging.projectId);
    expect(await answerAt(staging.projectId)).toMatchObject({
      ...{ secret: "of-the-project", environment: "staging" },
    });
    const difference = await admin.expect<{ release: { taskId: number }; items: { setting: string }[] }>(
      200,
      "GET",
      `/api/projects/${projectId}/promotion?from=staging&to=production`,
    );
    expect(difference.release.taskId).toBe(built.id);
    const promoted = await server.reach((await promote(projectId)).id, "success");
    const sealedAs = await digestOf(staging.projectId);
    expect(promoted).toMatchObject({
      projectId: production.projectId,
      deploys: { taskId: built.id, digest: sealedAs },
    });
    expect(await digestOf(production.projectId)).toBe(sealedAs);
    const tree = join(server.runnerDir, "releases", `${staging.projectId}/${built.id}/source`);
    expect((await treeDigest(tree)).digest).toBe(sealedAs);
    expect(textOf(await server.log(built.id))).toContain(`SHA-256 ${sealedAs}`);
    expect(promoted.stages.find(({ name }) => name === "build")?.state).toBe("skipped");
    expect(textOf(await server.log(promoted.id))).toContain(`task ${built.id}: nothing is built`);
    expect(await answerAt(production.projectId)).toMatchObject({
      ...{ place: "production", environment: "production" },
      own: "project",
      secret: "of-production",
      commit: built.commit ?? "",
    });
    expect(await placeOf(projectId, "production")).toMatchObject({
      release: { promotedFrom: built.id, commit: built.commit },
      behind: null,
      services: { state: "serving" },
    });
    const entries = await admin.expect<{ items: { action: string; username: string }[] }>(
      200,
      "GET",
      `/api/audit?projectId=${production.projectId}`,
    );
    expect(entries.items[0]).toMatchObject({ action: "task.promote", username: "admin" });

    // A later release of staging: production is behind, and goes on serving the files of the first one.
    await repository.push({}, { message: "later" });
    const later = await reached(projectId);
    expect(await placeOf(projectId, "production")).toMatchObject({
      behind: { from: "staging", releases: 1 },
    });
    expect(await answerAt(production.projectId)).toMatchObject({ commit: built.commit ?? "" });
    await server.reach((await promote(projectId)).id, "success");
    expect(await answerAt(production.projectId)).toMatchObject({ commit: later.commit ?? "" });
    // Back to the first promoted release, whose files staging has not removed.
    const back = await admin.expect<{ id: number }>(
      201,
      "POST",
      `/api/projects/${production.projectId}/rollback`,
      {},
    );
    const backTask = await server.reach(back.id, "success");
    expect(backTask.stages.find(({ name }) => name === "build")?.state).toBe("skipped");
    expect(await answerAt(production.projectId)).toMatchObject({ commit: built.commit ?? "" });
  });

  test("a release that services can write to is not promoted", async () => {
    const projectId = await shop({
      pipeline: { start: { web: webBeside({ command: where }) }, sealed: false },
    });
    await reached(projectId);
    expect((await promote(projectId, 409)).error.message).toContain("is not sealed");
  });

  test("an approval of production stops a promotion, with its pipeline pinned", async () => {
    const rule = { approval: "required", branches: [], notByPusher: false, expiresAfterMinutes: 60 };
    const projectId = await shop({
      environments: [environments[0], { ...environments[1], deploy: rule }],
    });
    await reached(projectId);
    const production = await placeOf(projectId, "production");
    const { id } = await promote(projectId);
    const waiting = await server.reach(id, "waiting");
    expect(waiting.projectId).toBe(production.projectId);
    await admin.expect(200, "POST", `/api/tasks/${id}/approve`, {});
    await server.reach(id, "success");
    expect(await answerAt(production.projectId)).toMatchObject({ place: "production" });
  });

  test("is one setting of the project: what belongs to it is changed there, and faults name their field", async () => {
    const projectId = await shop();
    const { projectId: production } = await placeOf(projectId, "production");
    const refused = await admin.expect<{ error: { message: string } }>(
      409,
      "PATCH",
      `/api/projects/${production}`,
      { env: {} },
    );
    expect(refused.error.message).toContain("production is an environment of");
    const faults = async (sent: unknown[]) =>
      (
        await admin.expect<{ error: { fields: { field: string; message: string }[] } }>(
          422,
          "PATCH",
          `/api/projects/${projectId}`,
          { environments: sent },
        )
      ).error.fields.map(({ field, message }) => `${field} ${message}`);
    expect(await faults([{ name: "A b" }])).toEqual([
      "environments.0.name must have 1 to 32 small letters, digits and - and start with a letter",
    ]);
    expect(await faults([{ name: "a" }, { name: "a" }])).toEqual([
      "environments.1.name must be unique: two environments have the name a",
    ]);
    expect(await faults([{ name: "a", from: "b" }, { name: "c" }])).toEqual([
      "environments.0.from must be another environment of the project: c",
    ]);
    expect(await faults([{ name: "a" }, { name: "c", from: "a", refs: ["main"] }])).toEqual([
      "environments.1.refs gets its releases from a alone, so it takes no refs",
    ]);
    expect(await faults([{ name: "a", ref: "main" }])).toEqual([
      "environments.0.ref is no field here; did you mean refs?",
    ]);
    // A change of the project reaches its environments, and one that is no longer named goes.
    await change(projectId, { env: { OWN: "changed" }, environments: [environments[0], { name: "demo" }] });
    expect((await statesOf(projectId)).map(({ name }) => name)).toEqual(["staging", "demo"]);
    await admin.expect(404, "GET", `/api/projects/${production}`);
    const staging = await placeOf(projectId, "staging");
    expect(
      await admin.expect<{ env: object; parentId: number }>(200, "GET", `/api/projects/${staging.projectId}`),
    ).toMatchObject({ env: { OWN: "changed", PLACE: "staging" }, parentId: projectId });
    const runByHand = await admin.expect<{ error: { fields: { message: string }[] } }>(
      422,
      "POST",
      `/api/projects/${projectId}/tasks`,
      { ref: "feature" },
    );
    expect(runByHand.error.fields[0]?.message).toContain("staging, demo");
  });

  test("that serve are stopped before they are removed, and go with their project", async () => {
    const projectId = await shop();
    await reached(projectId);
    const staging = await placeOf(projectId, "staging");
    for (const [method, body] of [
      ["PATCH", { environments: [] }],
      ["DELETE", undefined],
    ] as const) {
      const refused = await admin.expect<{ error: { message: string } }>(
        409,
        method,
        `/api/projects/${projectId}`,
        body,
      );
      expect(refused.error.message).toContain("Stop the services of");
    }
    const stop = await admin.expect<{ id: number }>(
      202,
      "POST",
      `/api/projects/${staging.projectId}/services/web/stop`,
    );
    await server.reach(stop.id, "success");
    await admin.expect(204, "DELETE", `/api/projects/${projectId}`);
    await admin.expect(404, "GET", `/api/projects/${staging.projectId}`);
  });
});

test("the files of a promoted release stay in one place", async () => {
  const projectId = await shop();
  await reached(projectId);
  await server.reach((await promote(projectId)).id, "success");
  const production = await placeOf(projectId, "production");
  const folders = readdirSync(join(server.runnerDir, "releases", String(production.projectId)));
  expect(folders).toHaveLength(1);
  const inside = readdirSync(
    join(server.runnerDir, "releases", String(production.projectId), String(folders[0])),
  );
  expect(inside).not.toContain("source");
});
