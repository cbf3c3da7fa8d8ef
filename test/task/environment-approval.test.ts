import { expect, test } from "bun:test";
import { answer, memberOf } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy();
const { admin } = server;

const rule = { approval: "required", branches: [], notByPusher: true, expiresAfterMinutes: 60 };
const staging = { name: "staging", refs: ["main"] };
const production = { name: "production", from: "staging", deploy: rule };

let people = 0;
async function guarded() {
  const id = await server.project(
    repository.url,
    { deploy: "printenv COLOR || true" },
    { environments: [staging, production] },
  );
  const named = ++people;
  const [bo, cy] = [await memberOf(server, id, `bo-${named}`), await memberOf(server, id, `cy-${named}`)];
  const builder = await memberOf(server, id, `di-${named}`);
  const { items } = await admin.expect<{ items: { name: string; projectId: number }[] }>(
    200,
    "GET",
    `/api/projects/${id}/environments`,
  );
  const built = await builder.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
  await server.reach(built.id, "success");
  const promoted = async (as: typeof bo) => {
    const body = { from: "staging", to: "production" };
    const task = await as.expect<{ id: number }>(201, "POST", `/api/projects/${id}/promote`, body);
    await server.reach(task.id, "waiting");
    return task.id;
  };
  return { id, production: items[1]?.projectId ?? 0, bo, cy, builder, promoted };
}

test("who promotes or started the build may not approve it; who changed the project or the environment may not either", async () => {
  const { id, production: place, bo, cy, builder, promoted } = await guarded();
  const first = await promoted(bo);
  await answer(bo, first, "approve", 403);
  await answer(builder, first, "approve", 403);
  await answer(cy, first, "approve");
  await server.reach(first, "success");

  await cy.expect(200, "PATCH", `/api/projects/${id}`, { env: { COLOR: "blue" } });
  const second = await promoted(bo);
  expect(JSON.stringify(await answer(cy, second, "approve", 403))).toContain("env");
  await answer(admin, second, "approve");
  await server.reach(second, "success");

  await cy.expect(204, "PUT", `/api/projects/${id}/secrets/TOKEN`, {
    value: "of-cy-for-all",
    scope: "deploy",
  });
  await cy.expect(204, "PUT", `/api/projects/${place}/secrets/OWN`, { value: "of-cy-here", scope: "deploy" });
  const third = await promoted(bo);
  expect(JSON.stringify(await answer(cy, third, "approve", 403))).toContain("secrets.OWN, secrets.TOKEN");
  await answer(admin, third, "approve");
  await server.reach(third, "success");

  const changed = [staging, { ...production, env: { COLOR: "green" } }];
  await cy.expect(200, "PATCH", `/api/projects/${id}`, { environments: changed });
  const fourth = await promoted(bo);
  expect(JSON.stringify(await answer(cy, fourth, "approve", 403))).toContain("environments");
});

test("a manager weakens no rule of an environment, removes none that has one, and adds none without the project's", async () => {
  const { id, bo } = await guarded();
  const refused = async (environments: object[], more: object = {}) =>
    bo.expect(403, "PATCH", `/api/projects/${id}`, { environments, ...more });
  await refused([staging, { ...production, deploy: { ...rule, notByPusher: false } }]);
  await refused([staging, { name: "production", from: "staging" }]);
  await refused([staging]);
  await bo.expect(200, "PATCH", `/api/projects/${id}`, {
    environments: [{ ...staging, refs: ["main", "next"] }, production],
  });
  await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "required" } });
  await refused([staging, production, { name: "demo", refs: ["demo"], deploy: { approval: "none" } }]);
  await bo.expect(200, "PATCH", `/api/projects/${id}`, {
    environments: [staging, production, { name: "demo", refs: ["demo"] }],
  });
});
