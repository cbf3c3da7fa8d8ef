import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { pipelineApi } from "../support/pipeline-api.ts";

const server = await setUpApi();
const { make, change, faultsOf } = pipelineApi(server);

test("a project that changes to a file keeps what the file cannot say, and goes back to what was read", async () => {
  const start = { web: { command: "x", port: 3000, network: "none" } };
  const { id, pipeline, revision } = (await make({ pipeline: { start } })) as unknown as {
    id: number;
    pipeline: object;
    revision: string;
  };
  const moved = await change(id, { pipeline: { from: "repository" } });
  expect(moved as object).toMatchObject({
    pipeline,
    pipelineFile: { path: ".slipway.yaml", ports: { web: 3000 }, withoutNetwork: ["start/web"] },
    fileRead: null,
  });
  const other = await change(id, { pipeline: { path: "ci.yaml", ports: {} } });
  expect(other as object).toMatchObject({
    pipelineFile: { path: "ci.yaml", ports: {}, withoutNetwork: ["start/web"] },
  });
  const back = await change(id, { pipeline: { from: "project" } });
  expect(back as object).toMatchObject({ pipeline, pipelineFile: null, revision });
});

test.each<[string, object, object, Record<string, string>]>([
  [
    "a pipeline beside the file",
    { pipeline: { from: "repository" } },
    { pipeline: { build: [] } },
    { "pipeline.build": "cannot be changed here: the file .slipway.yaml" },
  ],
  [
    "stages beside the file",
    { pipeline: { from: "repository" } },
    { stages: { build: { script: "x" } } },
    { stages: "cannot be changed here: the file .slipway.yaml" },
  ],
  [
    "a path without a file",
    {},
    { pipeline: { path: "ci.yaml" } },
    { "pipeline.path": "is for a pipeline from" },
  ],
  [
    "a path outside",
    {},
    { pipeline: { from: "repository", path: "../ci.yaml" } },
    { "pipeline.path": "must be a file inside the repository" },
  ],
  [
    "host steps",
    { pipeline: { deploy: [{ name: "restart", script: "x", host: true }] } },
    { pipeline: { from: "repository" } },
    { "pipeline.from": "cannot be repository while steps run outside of the sandbox: restart" },
  ],
])("%s is refused", async (_what, before, sent, expected) => {
  const { id } = await make(before);
  const faults = await faultsOf(sent, id);
  expect(Object.keys(faults)).toEqual(Object.keys(expected));
  for (const [field, text] of Object.entries(expected)) expect(faults[field]).toContain(text);
});

test("the schema is served to everybody, and errors have the form of the API", async () => {
  const { status, body } = await server.anonymous.request("GET", "/schemas/pipeline.json");
  expect([status, Object.keys((body as { properties: object }).properties)]).toEqual([
    200,
    ["build", "deploy", "start", "data", "scratch", "sealed"],
  ]);
  expect(await server.anonymous.request("POST", "/schemas/pipeline.json")).toMatchObject({
    status: 404,
    body: { error: { code: "not_found" } },
  });
});
