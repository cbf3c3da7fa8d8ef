import { describe, expect, test } from "bun:test";
import { serviceDefaults } from "../../src/model/service/service.ts";
import { setUpApi } from "../support/api-setup.ts";
import { type PipelineProject as Project, pipelineApi } from "../support/pipeline-api.ts";

const server = await setUpApi();
const { make, change, faultsOf } = pipelineApi(server);

describe("services", () => {
  test("have their defaults, and times in seconds", async () => {
    const { pipeline } = await make({
      pipeline: {
        start: {
          web: { command: "node a.js", check: { http: "/healthz", within: "2m" }, drain: "1h", stopGrace: 3 },
          worker: { command: "node b.js", port: "none", limits: { cpus: 0.5 }, env: { MODE: "live" } },
        },
      },
    });
    const check = { http: "/healthz", tcp: "", command: "", expect: "", within: 120 };
    const limits = { ...serviceDefaults.limits, cpus: 0.5 };
    expect(pipeline.start as object).toEqual({
      web: { ...serviceDefaults, command: "node a.js", check, drain: 3600, stopGrace: 3 },
      worker: { ...serviceDefaults, command: "node b.js", port: "none", limits, env: { MODE: "live" } },
    });
  });

  test("replace steps, are replaced as a whole, and none are an empty list", async () => {
    const { id } = await make({ pipeline: { start: [{ script: "systemctl restart shop" }] } });
    const started = async (start: object) => (await change(id, { pipeline: { start } })).pipeline.start;
    expect(Object.keys(await started({ web: { command: "a" }, worker: { command: "b" } }))).toEqual([
      "web",
      "worker",
    ]);
    expect(Object.keys(await started({ worker: { command: "b" } }))).toEqual(["worker"]);
    expect(Object.keys((await change(id, { pipeline: { data: ["a"] } })).pipeline.start)).toEqual(["worker"]);
    expect(await started({})).toEqual([]);
  });
});

test("a project says for how long a crash loop brings the previous release back", async () => {
  type Answer = Project & { rollbackWithin: number; revision: string };
  const { id, rollbackWithin, revision } = (await make({})) as Answer;
  expect(rollbackWithin).toBe(10);
  const changed = (await change(id, { rollbackWithin: 0 })) as Answer;
  expect([changed.rollbackWithin, changed.revision === revision]).toEqual([0, false]);
  expect(((await change(id, { rollbackWithin: 10 })) as Answer).revision).toBe(revision);
  for (const wrong of [-1, 1441, 1.5])
    expect(Object.keys(await faultsOf({ rollbackWithin: wrong }, id))).toEqual(["rollbackWithin"]);
  const { rollbackWithin: given } = (await make({ rollbackWithin: 60 })) as Answer;
  expect(given).toBe(60);
});

test("a project warns of a start script of version 1.0, and of a step that uses $PORT", async () => {
  const { id } = await make({ stages: { start: { script: "node a.js &\nnode b.js &" } } });
  const warned = async () =>
    (await server.admin.expect<Project>(200, "GET", `/api/projects/${id}`)).warnings.join("\n");
  expect(await warned()).toContain("The service web is a start script of version 1.0");
  await change(id, { stages: { start: { script: "docker run -d -p $PORT:80 shop" } } });
  expect(await warned()).toContain("A step of start uses $PORT");
  await change(id, { env: { PORT: "8080" } });
  expect(await warned()).not.toContain("$PORT");
});

test("the description of the API has both forms of start", async () => {
  const { components } = await server.admin.expect<{
    components: { schemas: Record<string, { properties?: { start?: object } }> };
  }>(200, "GET", "/api/openapi.json");
  const start = JSON.stringify(components.schemas.Pipeline?.properties?.start);
  for (const part of ['"type":"array"', "additionalProperties", "stopGrace"])
    expect(start + JSON.stringify(components.schemas.Service ?? {})).toContain(part);
});
