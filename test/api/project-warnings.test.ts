import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { makeHook } from "../support/hook.ts";

const server = await setUpApi();

test("a project has the warnings of its enabled webhook, for people who manage it", async () => {
  const deploys = { stages: { deploy: { script: "make deploy" } } };
  const { projectId, save } = await makeHook(server, { enabled: false }, deploys);
  const path = `/api/projects/${projectId}`;
  const warningsFor = async (client = server.admin) =>
    (await client.expect<{ warnings: string[] }>(200, "GET", path)).warnings;
  expect(await warningsFor()).toEqual([]);
  await save({ enabled: true });
  interface Warned {
    warnings: string[];
    warningParts: { code: string }[][];
  }
  const { warnings, warningParts } = await server.admin.expect<Warned>(200, "GET", `${path}/webhook`);
  expect(warningParts.flat().map(({ code }) => code)).toContain("warn_any_branch");
  expect((await server.admin.expect<Warned>(200, "GET", path)).warningParts).toEqual(warningParts);
  expect(warnings.join("\n")).toContain("without a secret");
  expect(warnings.join("\n")).toContain("The branch filter is empty");
  expect(await warningsFor()).toEqual(warnings);
  const viewer = await server.newUser("warned-viewer");
  await server.admin.expect(200, "PUT", `${path}/members/${viewer.id}`, { permission: "view" });
  expect(await warningsFor(viewer.client)).toEqual([]);
  await server.admin.expect(200, "PUT", `${path}/members/${viewer.id}`, { permission: "manage" });
  expect(await warningsFor(viewer.client)).toEqual(warnings);
});

test("a new project says that its webhook will take every branch", async () => {
  const git = { url: "https://git.example.com/shop.git", ref: "release" };
  const made = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", { name: "new", git });
  expect(made).toMatchObject({
    warnings: [expect.stringContaining("Set the filter to release")],
    warningParts: [[{ code: "warn_new_project", values: { branch: "release" } }]],
  });
  expect(await server.admin.expect<object>(200, "GET", `/api/projects/${made.id}`)).toEqual({
    ...{ ...made, warnings: [], warningParts: [] },
  });
  const read = await server.admin.expect(200, "GET", `/api/projects/${made.id}/webhook`);
  expect(read).toMatchObject({ branchFilter: [] });
});
