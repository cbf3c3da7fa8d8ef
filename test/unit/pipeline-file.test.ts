import { describe, expect, test } from "bun:test";
import { completePipeline, type Pipeline, pipelineBody } from "../../src/model/pipeline.ts";
import { fileFaultText } from "../../src/model/pipeline-file/file-fault.ts";
import { pipelineFileSchema } from "../../src/model/pipeline-file/file-json-schema.ts";
import { besideFile, withProjectSettings } from "../../src/model/pipeline-file/file-source.ts";
import { readPipelineFile } from "../../src/model/pipeline-file/read-file.ts";
import { settingFault } from "../../src/model/pipeline-file/setting-names.ts";
import { writePipelineFile } from "../../src/model/pipeline-file/write-file.ts";
import { projectSettings } from "../../src/model/project.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { malformedFiles } from "../support/malformed-files.ts";

function faultsOf(text: string): string[] {
  const read = readPipelineFile(text);
  return Array.isArray(read) ? read.map((fault) => renderReason(fileFaultText("f", fault))) : [];
}

function pipelineOf(text: string): Pipeline {
  const read = readPipelineFile(text);
  if (Array.isArray(read)) throw new Error(faultsOf(text).join("\n"));
  return read.pipeline;
}

/** Every field of the schema, with another value than its default. */
const whole = `
build:
  - name: test
    script: |
      npm ci
      npm test
    timeout: 600
    directory: shop
    image: node:22
deploy:
  - script: ./migrate.sh
    check: { tcp: db:5432, within: 5m }
    onRollback: true
    once: true
    pause: true
start:
  web:
    command: node dist/server.js
    background: true
    directory: shop
    env: { MODE: fast }
    port: $PORT
    check: { http: /healthz, expect: ok, within: 30s }
    restart: on-failure
    limits: { memoryMb: 256, cpus: 0.5, processes: 40 }
    drain: 1m
    stopGrace: 20
    image: node:22-slim
    switch: ./switch.sh
    routes:
      - domains: [shop.example.com]
        path: /api
        tls: internal
        redirect: false
        headers: { x-frame-options: DENY }
        maintenance: <p>Back soon.</p>
  worker:
    command: node dist/worker.js
    port: none
    check: { command: ./alive.sh }
data: [uploads]
scratch: [.next/cache]
sealed: false
`;

describe("a pipeline file", () => {
  test("says every field of the schema", () => {
    const said = (value: unknown): string[] =>
      value !== null && typeof value === "object"
        ? Object.entries(value).flatMap(([name, inner]) => [name, ...said(inner)])
        : [];
    const known = new Set<string>();
    const collect = (schema: unknown): void => {
      if (schema === null || typeof schema !== "object") return;
      const { properties } = schema as { properties?: object };
      for (const name of Object.keys(properties ?? {})) known.add(name);
      Object.values(schema).forEach(collect);
    };
    collect(pipelineFileSchema());
    const names = new Set(said(Bun.YAML.parse(whole)));
    const headers = Object.keys(headerNamesOf(pipelineFileSchema()));
    expect([...known].filter((name) => !names.has(name) && !headers.includes(name))).toEqual([]);
  });

  test("is the pipeline that the API makes of the same fields", () => {
    expect(pipelineOf(whole)).toEqual(completePipeline(pipelineBody.parse(Bun.YAML.parse(whole))));
    const { build, deploy, start, ...folders } = pipelineOf(whole);
    expect(folders).toEqual({ data: ["uploads"], scratch: [".next/cache"], sealed: false });
    expect(build[0]).toMatchObject({ name: "test", script: "npm ci\nnpm test\n", timeout: 600, host: false });
    expect(deploy[0]).toMatchObject({ name: "deploy", onRollback: true, once: true, pause: true });
    expect(start).toMatchObject({ web: { restart: "on-failure", port: "$PORT" }, worker: { port: "none" } });
  });

  test("may use anchors, merges and empty stages", () => {
    const text =
      "build:\n  - &npm { image: node:22, script: npm ci }\n  - { <<: *npm, script: npm test }\nstart: {}\n";
    expect(pipelineOf(text).build.map(({ image, script }) => `${image} ${script}`)).toEqual([
      "node:22 npm ci",
      "node:22 npm test",
    ]);
    expect(pipelineOf("build: []").start).toEqual([]);
  });

  test.each(malformedFiles)("%s", (_what, text, ...expected) => {
    expect(faultsOf(text).map((fault) => fault.replace(/^f, line (\d+), column (\d+): /, "$1:$2 "))).toEqual(
      expected,
    );
  });

  test("there are at least 60 malformed ones", () =>
    expect(malformedFiles.length).toBeGreaterThanOrEqual(60));

  test("is never so large in memory as its anchors could make it", () => {
    const levels = "abcdefghijkl".split("");
    const bomb = levels
      .map(
        (name, i) =>
          `${name}: &${name} [${Array(9)
            .fill(i === 0 ? "x" : `*${levels[i - 1]}`)
            .join(", ")}]`,
      )
      .join("\n");
    expect(faultsOf(bomb)).toHaveLength(1);
    const step = `- &step { name: first, script: "${"x".repeat(90_000)}" }`;
    const copies = Array.from({ length: 20 }, (_, i) => `  - { <<: *step, name: copy-${i} }`).join("\n");
    expect(faultsOf(`build:\n  ${step}\n${copies}\n`)).toEqual([
      "f, line 1, column 1: the pipeline has more than 1000000 characters once its aliases are filled in",
    ]);
    expect(faultsOf(`build: ${"[".repeat(100_000)}`)).toHaveLength(1);
  });

  test("has no setting of a project that its schema does not know", () => {
    const names = Object.keys(projectSettings.shape).filter((name) => !["pipeline", "deploy"].includes(name));
    expect(names.filter((name) => settingFault([name]) === null)).toEqual([]);
  });
});

describe("a pipeline that is written as a file", () => {
  const stored = completePipeline({
    build: [
      { script: "npm ci\nnpm test\n", network: "none" },
      { name: "pack", script: "npm pack" },
    ],
    deploy: [{ script: "./deploy.sh # done", check: { http: "https://shop.example.com/", within: 9 } }],
    start: {
      web: { command: "node 'server.js'", port: 3000, env: { MODE: "yes" }, limits: { cpus: 2 } },
      worker: { command: "node worker.js", port: "none", network: "none" },
    },
    data: ["uploads"],
    sealed: false,
  });

  test("is read as the same pipeline, with what stays in the project", () => {
    const text = writePipelineFile(stored);
    expect(text).toStartWith(
      "# These stay settings of the project: the port 3000 of web, no network for build/build-1, no network for start/worker.\n",
    );
    const source = { path: ".slipway.yaml", ...besideFile(stored) };
    expect(withProjectSettings(pipelineOf(text), source)).toEqual({ pipeline: stored, faults: [] });
    expect(pipelineOf(writePipelineFile(pipelineOf(whole)))).toEqual(pipelineOf(whole));
    expect(pipelineOf(writePipelineFile(completePipeline({})))).toEqual(completePipeline({}));
  });

  test("needs each step and service that the project has settings for", () => {
    const source = { path: ".slipway.yaml", ports: { web: 80 }, withoutNetwork: ["build/test", "start/job"] };
    const { faults } = withProjectSettings(pipelineOf("start: { job: { command: x } }"), source);
    expect(faults.map(({ path, message }) => `${path.join(".")} ${renderReason(message)}`)).toEqual([
      "start has no service web, which has a fixed port in the project; change the file or the project",
      "build has no build/test, which has no network in the project; change the file or the project",
    ]);
  });
});

function headerNamesOf(schema: object): object {
  const text = JSON.stringify(schema);
  const [, names = "{}"] = /"headers":\{"type":"object","properties":(\{.*?\}\})/.exec(text) ?? [];
  return JSON.parse(names) as object;
}
