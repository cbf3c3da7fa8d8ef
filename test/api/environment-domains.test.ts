import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";

const { admin } = await setUpApi();

test("two environments with one domain are refused at the domains of the second one", async () => {
  const web = { command: "exec sleep 60", routes: [{ domains: ["both.test"] }] };
  const body = (environments: object[]) => ({
    ...{ name: "both", git: { url: "https://git.example.com/both.git" } },
    ...{ pipeline: { start: { web } }, environments },
  });
  const [staging, production] = ["staging", "production"].map((name) => ({ name, refs: [name] }));
  const domains = { "both.test": "staging.both.test" };
  const { id } = await admin.expect<{ id: number }>(
    ...[201, "POST", "/api/projects", body([{ ...staging, domains }, { ...production }])],
  );
  await admin.expect(200, "PATCH", `/api/projects/${id}`, {
    environments: [staging, { ...production, domains }],
  });
  const refused = await admin.expect<{ error: { fields: object[] } }>(422, "PATCH", `/api/projects/${id}`, {
    environments: [staging, production],
  });
  expect(refused.error.fields).toMatchObject([
    {
      field: "environments.1.domains",
      message: "must have another domain for both.test, which the environment staging has",
    },
  ]);
});
