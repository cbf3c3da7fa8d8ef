import { describe, expect, test } from "bun:test";
import { completePipeline, emptyPipeline, stepDefaults } from "../../src/model/pipeline.ts";
import { serviceDefaults } from "../../src/model/service/service.ts";
import {
  type StagesBody,
  stageFaults,
  stagesOf,
  stagesSchema,
  withStages,
} from "../../src/model/stage/stages.ts";
import { renderReason } from "../../src/reason/reason.ts";

type Start = NonNullable<StagesBody["start"]>;

const started = (start: Start) => withStages(emptyPipeline, { start }).start;
const faults = (start: Start) =>
  Object.fromEntries(
    stageFaults(emptyPipeline, { start }).map(({ path, message }) => [path.join("."), renderReason(message)]),
  );
const check = (fields: object) => ({ http: "", tcp: "", command: "", expect: "", within: 60, ...fields });
const http = (url: string, timeoutSeconds = 60) => ({ type: "http", url, timeoutSeconds }) as const;
const tcp = (host: string, port: number | "$PORT") =>
  ({ type: "tcp", host, port, timeoutSeconds: 60 }) as const;

describe("a start stage of version 1.0", () => {
  test("without a service is a step, with its check", () => {
    expect(started({ script: "" })).toEqual([]);
    const step = { ...stepDefaults, name: "start", script: "systemctl restart shop" };
    expect(started({ script: step.script })).toEqual([step]);
    expect(started({ script: step.script, timeout: 9, healthCheck: http("http://shop/", 7) })).toEqual([
      { ...step, timeout: 9, check: check({ http: "http://shop/", within: 7 }) },
    ]);
  });

  test.each<[string, Start, object]>([
    ["no check", { script: "./serve &" }, { port: "none" }],
    [
      "a local URL",
      { script: "./serve &", healthCheck: http("http://127.0.0.1:3000/ok", 9) },
      { port: 3000, check: check({ http: "http://127.0.0.1:3000/ok", within: 9 }) },
    ],
    [
      "a URL without a port",
      { script: "./serve &", healthCheck: http("http://localhost/") },
      { port: 80, check: check({ http: "http://localhost/" }) },
    ],
    [
      "a URL elsewhere",
      { script: "./serve &", healthCheck: http("http://shop.example.com:3000/") },
      { port: "none", check: check({ http: "http://shop.example.com:3000/" }) },
    ],
    [
      "the variable PORT of the project",
      { script: "./serve &", healthCheck: http("http://127.0.0.1:$PORT/") },
      { port: "none", check: check({ http: "http://127.0.0.1:$PORT/" }) },
    ],
    [
      "a local port",
      { script: "./serve &", healthCheck: tcp("127.0.0.1", 3000) },
      { port: 3000, check: check({ tcp: "127.0.0.1:3000" }) },
    ],
    [
      "an address of IPv6",
      { script: "./serve &", healthCheck: tcp("::1", 3000) },
      { port: 3000, check: check({ tcp: "[::1]:3000" }) },
    ],
    [
      "a command",
      { script: "./serve &", healthCheck: { type: "command", command: "./ask", timeoutSeconds: 5 } },
      { port: "none", check: check({ command: "./ask", within: 5 }) },
    ],
    [
      "both for a time",
      {
        ...{ script: "./serve &", previous: "stop-after-healthy", switch: "nginx -s reload" },
        healthCheck: { ...http("http://127.0.0.1:$PORT/"), expect: "$CI_COMMIT" },
      },
      {
        port: "$PORT",
        switch: "nginx -s reload",
        check: check({ http: "http://127.0.0.1:$PORT/", expect: "$CI_COMMIT" }),
      },
    ],
    [
      "folder, image and network",
      { script: "./serve &", directory: "web", image: "node:22", network: "none" },
      { port: "none", directory: "web", image: "node:22", network: "none" },
    ],
  ])("with one command in the background is a service: %s", (_, start, expected) => {
    const pipeline = withStages(emptyPipeline, { start });
    expect(pipeline.start).toEqual({ web: { ...serviceDefaults, command: "./serve", ...expected } } as never);
    const stages = stagesOf(pipeline);
    expect(stages?.start).toMatchObject(start);
    expect(stagesSchema.safeParse(stages).success).toBe(true);
    expect(withStages(emptyPipeline, { start: stages?.start }).start).toEqual(pipeline.start);
  });

  test("with anything else in the background is a service that executes the script", () => {
    const script = "./one &\n./two &";
    const pipeline = withStages(emptyPipeline, { start: { script } });
    expect(pipeline.start).toEqual({
      web: { ...serviceDefaults, command: script, background: true, port: "none" },
    });
    expect(stagesOf(pipeline)?.start).toMatchObject({ script, previous: "stop-first" });
  });

  test("changes by one field at a time", () => {
    const first = withStages(emptyPipeline, { start: { script: "./serve &" } });
    const second = withStages(first, { start: { healthCheck: tcp("127.0.0.1", 80) } });
    const third = withStages(second, { start: { script: "./other &" } });
    expect(third.start).toEqual({
      web: { ...serviceDefaults, command: "./other", port: 80, check: check({ tcp: "127.0.0.1:80" }) },
    });
    expect(withStages(third, { start: { script: "", healthCheck: null } }).start).toEqual([]);
  });

  test.each<[Start, Record<string, string>]>([
    [{ script: "./serve &", previous: "keep" }, { "start.previous": "must be stop-first or" }],
    [{ script: "true", previous: "stop-after-healthy" }, { "start.previous": "needs a service" }],
    [{ script: "./serve &", switch: "x" }, { "start.switch": "needs previous: stop-after-healthy" }],
    [{ script: "./serve &", log: "a.log" }, { "start.log": "must be empty: print to the standard output" }],
    [{ script: "./serve &", settleSeconds: 9 }, { "start.settleSeconds": "must be 5" }],
    [{ script: "docker compose up -d", previous: "keep", settleSeconds: 5 }, {}],
  ])("refuses what is no more: %j", (start, expected) => {
    const found = faults(start);
    expect(Object.keys(found)).toEqual(Object.keys(expected));
    for (const [field, text] of Object.entries(expected)) expect(found[field]).toStartWith(text);
  });
});

test.each<[string, object]>([
  ["two services", { web: { command: "a", port: "none" }, worker: { command: "b" } }],
  ["another name", { api: { command: "a", port: "none" } }],
  ["a path", { web: { command: "a", check: { http: "/" } } }],
  ["a fixed port without a check", { web: { command: "a", port: 80 } }],
  ["a restart rule", { web: { command: "a", port: "none", restart: "never" } }],
  ["variables", { web: { command: "a", port: "none", env: { A: "1" } } }],
  ["a comment at the end", { web: { command: "a # b", port: "none" } }],
  ["a list of commands", { web: { command: "a && b", port: "none" } }],
  ["a check without time", { web: { command: "a", port: "none", check: { command: "b", within: 0 } } }],
  ["two steps", [{ script: "a" }, { script: "b" }]],
  ["a step that runs once", [{ script: "a", once: true }]],
])("`stages` cannot say %s", (_, start) => {
  expect(stagesOf(completePipeline({ start } as never))).toBeNull();
});
