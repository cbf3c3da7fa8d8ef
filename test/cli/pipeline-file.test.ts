import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { completePipeline } from "../../src/model/pipeline.ts";
import { type ReadFile, readPipelineFile } from "../../src/model/pipeline-file/read-file.ts";
import { setUpApi } from "../support/api-setup.ts";
import { buildCli } from "../support/cli.ts";
import { examplesOf } from "../support/page-examples.ts";
import { pipelineApi } from "../support/pipeline-api.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const server = await setUpApi();
const { make } = pipelineApi(server);
const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
  ...{ name: "shell", scopes: ["write"] },
});
const slipway = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token });
const folder = temporaryFolder("pipeline-file");
afterAll(() => server.stop());

function file(text: string): string {
  const path = join(folder, "pipeline.yaml");
  writeFileSync(path, text);
  return path;
}

test("pipeline check says what a file runs, or each mistake with its line", async () => {
  const right = file("build: [{ name: test, script: make }]\nstart: { web: { command: node server.js } }\n");
  expect(await slipway(["pipeline", "check", right])).toMatchObject({
    exitCode: 0,
    stdout: `${right} is right: build (test), start (web).\n`,
  });
  const wrong = file("build:\n  - scirpt: make\nlabels: [gpu]\n");
  const shown = await slipway(["pipeline", "check", wrong]);
  expect(shown).toMatchObject({ exitCode: 2, stdout: "" });
  expect(shown.stderr).toBe(
    `${wrong}, line 2, column 5: build.0.scirpt is no field here; did you mean script?\n` +
      `${wrong}, line 3, column 1: labels cannot be in the file: it is a setting of the project\n`,
  );
  expect((await slipway(["pipeline", "check", wrong, "--json"])).json()).toMatchObject({
    ok: false,
    faults: [{ line: 2, column: 5, field: "build.0.scirpt" }, { line: 3 }],
  });
  const missing = await slipway(["pipeline", "check"]);
  expect([missing.exitCode, missing.stderr]).toEqual([5, expect.stringContaining(".slipway.yaml cannot be")]);
});

test("docs/pipeline.md: its file is right, its commands move a project, and its body is accepted", async () => {
  const [page, , body] = await examplesOf("pipeline.md");
  const { pipeline } = readPipelineFile(page?.text ?? "") as ReadFile;
  const { id } = await make({ name: "moved", pipeline });
  const exported = await slipway(["pipeline", "export", "moved"]);
  const path = file(exported.stdout);
  const checked = await slipway(["pipeline", "check", path, "--project", "moved"]);
  expect(checked).toMatchObject({ exitCode: 0, stderr: "" });
  const changed = await server.admin.expect<object>(
    ...[200, "PATCH", `/api/projects/${id}`, JSON.parse(body?.text ?? "")],
  );
  expect(changed).toMatchObject({ pipelineFile: { path: ".slipway.yaml" }, pipeline, fileRead: null });
});

test("pipeline check --project adds what the project does not allow, at its place", async () => {
  const { id } = await make({
    name: "limited",
    allowedDomains: ["shop.example.com"],
    limits: { memoryMb: 64 },
  });
  const web = "start:\n  web:\n    command: x\n";
  const wrong = file(`${web}    limits: { memoryMb: 128 }\n    routes: [{ domains: [www.example.com] }]\n`);
  const shown = await slipway(["pipeline", "check", wrong, "--project", String(id)]);
  expect([shown.exitCode, shown.stdout]).toEqual([2, ""]);
  expect(shown.stderr).toContain("line 4, column 25: start.web.limits.memoryMb must be at most 64");
  expect((await slipway(["pipeline", "check", wrong])).exitCode).toBe(0);
});

test("pipeline export prints the file of a project, unless it runs something outside of the sandbox", async () => {
  const pipeline = {
    build: [{ name: "test", script: "npm ci\nnpm test\n" }],
    start: { web: { command: "node server.js", check: { http: "/healthz", within: 30 } } },
  };
  const { id } = await make({ pipeline });
  const exported = await slipway(["pipeline", "export", String(id)]);
  expect(exported.exitCode).toBe(0);
  expect(readPipelineFile(exported.stdout)).toMatchObject({ pipeline: completePipeline(pipeline) });
  const host = await make({ pipeline: { deploy: [{ name: "restart", script: "systemctl", host: true }] } });
  const refused = await slipway(["pipeline", "export", String(host.id)]);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain("cannot be a file: restart runs outside of the sandbox");
});
