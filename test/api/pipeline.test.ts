import { describe, expect, test } from "bun:test";
import { stepDefaults } from "../../src/model/pipeline.ts";
import { setUpApi } from "../support/api-setup.ts";
import { pipelineApi } from "../support/pipeline-api.ts";

const server = await setUpApi();
const { make, change, faultsOf } = pipelineApi(server);

describe("the pipeline of a project", () => {
  test("is complete in answers: steps have names, and every field has its value", async () => {
    const script = "make";
    const { pipeline } = await make({
      pipeline: {
        build: [{ script }],
        deploy: [{ script }, { script, name: "ship" }, { script }],
        start: [{ script }],
      },
    });
    expect(pipeline).toEqual({
      build: [{ ...stepDefaults, name: "build", script }],
      deploy: ["deploy-1", "ship", "deploy-3"].map((name) => ({ ...stepDefaults, name, script })),
      start: [{ ...stepDefaults, name: "start", script }],
      ...{ data: [], scratch: [], sealed: true },
    });
  });

  test("keeps what a change does not name, and every field that it names", async () => {
    const step = {
      ...{ name: "all", script: "make", timeout: 9, directory: "web", image: "node:22", network: "none" },
    };
    const check = { http: "", tcp: "127.0.0.1:80", command: "", expect: "", within: 3 };
    const folders = { data: ["uploads", "public/media"], scratch: [".next/cache"], sealed: false };
    const whole = {
      build: [{ ...step, host: false, check: null, onRollback: false, once: false, pause: false }],
      deploy: [{ ...step, host: true, check, onRollback: true, once: true, pause: false }],
      start: [{ ...step, host: true, check, onRollback: false, once: true, pause: false }],
      ...folders,
    };
    const { id, pipeline } = await make({ pipeline: whole });
    expect(pipeline as object).toEqual(whole);
    expect((await change(id, { pipeline: { data: [] } })).pipeline as object).toEqual({ ...whole, data: [] });
    expect((await change(id, { pipeline: { build: [] } })).pipeline).toMatchObject({
      build: [],
      sealed: false,
    });
  });

  test.each<[string, object, Record<string, string>]>([
    [
      "name",
      { build: [{ name: "Test it" }] },
      { "pipeline.build.0.name": "must have 1 to 32 small letters" },
    ],
    [
      "two names",
      { build: [{ name: "a" }, { name: "a" }] },
      { "pipeline.build.1.name": "must be unique: build has" },
    ],
    [
      "script",
      { build: [{ script: "x".repeat(100_001) }] },
      { "pipeline.build.0.script": "must have at most" },
    ],
    ["timeout", { build: [{ timeout: 0 }] }, { "pipeline.build.0.timeout": "must be at least 1" }],
    [
      "directory",
      { build: [{ directory: "../x" }] },
      { "pipeline.build.0.directory": "must be a folder inside" },
    ],
    ["image", { build: [{ image: "--privileged" }] }, { "pipeline.build.0.image": "must be an image" }],
    [
      "network",
      { build: [{ network: "host" }] },
      { "pipeline.build.0.network": 'must be "bridge" or "none"' },
    ],
    ["host", { build: [{ host: true }] }, { "pipeline.build.0.host": "is for steps of deploy and start" }],
    [
      "onRollback",
      { start: [{ onRollback: true }] },
      { "pipeline.start.0.onRollback": "is for steps of deploy" },
    ],
    ["once", { build: [{ once: true }] }, { "pipeline.build.0.once": "is for steps of deploy and start" }],
    [
      "check of a step",
      { start: [{ check: { http: "/x" } }] },
      { "pipeline.start.0.check.http": "must be a whole URL: a path needs a port" },
    ],
    ["field of 1.0", { start: [{ log: "a" }] }, { "pipeline.start.0.log": "is no field here" }],
    [
      "start",
      { start: "node server.js" },
      { "pipeline.start": "must be services by name, or a list of steps" },
    ],
    ["no command", { start: { web: {} } }, { "pipeline.start.web.command": "must not be blank" }],
    [
      "name of a service",
      { start: { "Web 1": { command: "x" } } },
      { "pipeline.start.Web 1": "must have 1 to 32 small letters" },
    ],
    [
      "unknown field",
      { start: { web: { command: "x", prot: 1 } } },
      { "pipeline.start.web.prot": "is no field here; did you mean port?" },
    ],
    [
      "unknown field of a check",
      { start: { web: { command: "x", check: { htpp: "/" } } } },
      { "pipeline.start.web.check.htpp": "is no field here; did you mean http?" },
    ],
    [
      "port",
      { start: { web: { command: "x", port: 0 } } },
      { "pipeline.start.web.port": "must be at least 1" },
    ],
    [
      "one port twice",
      { start: { web: { command: "x", port: 80 }, admin: { command: "y", port: 80 } } },
      { "pipeline.start.admin.port": "must be another one: the service web has this port" },
    ],
    [
      "check of two kinds",
      { start: { web: { command: "x", check: { http: "/", tcp: "$PORT" } } } },
      { "pipeline.start.web.check": "must have exactly one of http, tcp and command" },
    ],
    [
      "check of no kind",
      { start: { web: { command: "x", check: { within: 5 } } } },
      { "pipeline.start.web.check": "must have exactly one of http, tcp and command" },
    ],
    [
      "path without a port",
      { start: { web: { command: "x", port: "none", check: { http: "/" } } } },
      { "pipeline.start.web.check.http": "must be a whole URL: a path needs a port" },
    ],
    [
      "expect without http",
      { start: { web: { command: "x", check: { tcp: "$PORT", expect: "a" } } } },
      { "pipeline.start.web.check.expect": "is for http checks" },
    ],
    [
      "tcp",
      { start: { web: { command: "x", check: { tcp: "localhost" } } } },
      { "pipeline.start.web.check.tcp": "must be a port or host:port" },
    ],
    [
      "http",
      { start: { web: { command: "x", check: { http: "healthz" } } } },
      { "pipeline.start.web.check.http": "must be a path such as /healthz" },
    ],
    [
      "duration",
      { start: { web: { command: "x", drain: "5 minutes" } } },
      { "pipeline.start.web.drain": "must be a number of seconds, or a time such as 30s" },
    ],
    [
      "long duration",
      { start: { web: { command: "x", stopGrace: "2h" } } },
      { "pipeline.start.web.stopGrace": "must be at most 3600" },
    ],
    [
      "restart",
      { start: { web: { command: "x", restart: "yes" } } },
      { "pipeline.start.web.restart": 'must be "always" or "on-failure" or "never"' },
    ],
    [
      "limits",
      { start: { web: { command: "x", limits: { memoryMb: 1 } } } },
      { "pipeline.start.web.limits.memoryMb": "must be at least 4" },
    ],
    [
      "variable of a service",
      { start: { web: { command: "x", env: { CI_REF: "x" } } } },
      { "pipeline.start.web.env.CI_REF": "must not start with CI_" },
    ],
    [
      "image of a service",
      { start: { web: { command: "x", image: "--privileged" } } },
      { "pipeline.start.web.image": "must be an image" },
    ],
    [
      "switch",
      { start: { web: { command: "x", port: 80, switch: "x" } } },
      { "pipeline.start.web.switch": "needs a service that starts beside" },
    ],
    [
      "many services",
      { start: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`s${n}`, { command: "x" }])) },
      { "pipeline.start": "must have at most 20 entries" },
    ],
    ["data", { data: ["/srv"] }, { "pipeline.data.0": "must be a folder inside the repository" }],
    [
      "scratch",
      { scratch: [".git/hooks"] },
      { "pipeline.scratch.0": "must be a folder inside the repository" },
    ],
    ["overlap", { data: ["a"], scratch: ["b", "a/b"] }, { "pipeline.scratch.1": "overlaps with a" }],
    ["sealed", { sealed: "yes" }, { "pipeline.sealed": "must be true or false" }],
    ["other stages", { biuld: [] }, { "pipeline.biuld": "is no field here; did you mean build?" }],
  ])("refuses a wrong value: %s", async (_, pipeline, expected) => {
    const faults = await faultsOf({ pipeline });
    expect(Object.keys(faults)).toEqual(Object.keys(expected));
    for (const [field, text] of Object.entries(expected)) expect(faults[field]).toStartWith(text);
  });
});

describe("`stages` beside the pipeline", () => {
  test("changes the one step of a stage, and is answered wherever it says everything", async () => {
    const { id, stages } = await make({ stages: { build: { script: "make", timeout: 60 } } });
    expect(stages).toMatchObject({
      build: { script: "make", timeout: 60 },
      deploy: { script: "", timeout: null },
    });
    const changed = await change(id, { stages: { build: { image: "node:22" } } });
    expect(changed.stages?.build).toEqual({ script: "make", timeout: 60, image: "node:22" });
    expect(changed.pipeline.build).toEqual([
      { ...stepDefaults, ...changed.stages?.build, name: "build" } as never,
    ]);
    const back = await change(id, { stages: { build: { script: "", timeout: null, image: "" } } });
    expect(back.pipeline.build).toEqual([]);
    const folders = await change(id, { pipeline: { data: ["uploads"], sealed: false } });
    expect(folders.stages).toEqual(back.stages as Record<string, object>);
  });

  test("is null for several steps, a name or a host step, and then cannot change that stage", async () => {
    const steps = [{ script: "make" }, { script: "make test" }];
    for (const deploy of [steps, [{ name: "ship", script: "x" }], [{ host: true, script: "x" }]]) {
      const { id, stages } = await make({ pipeline: { deploy } });
      expect(stages).toBeNull();
      expect(await faultsOf({ stages: { deploy: { script: "y" } } }, id)).toEqual({
        "stages.deploy": "has steps that stages cannot describe; send pipeline instead",
      });
      const { pipeline } = await change(id, { stages: { build: { script: "make" } } });
      expect([pipeline.build.length, pipeline.deploy.length]).toEqual([1, deploy.length]);
    }
  });

  test("is refused together with the pipeline", async () => {
    const both = { stages: { build: { script: "x" } }, pipeline: { build: [{ script: "x" }] } };
    const fault = { stages: "must not be sent together with pipeline, which says the same" };
    expect(await faultsOf(both)).toEqual(fault);
    expect(await faultsOf(both, (await make({})).id)).toEqual(fault);
    expect(await faultsOf({ stages: { start: { switch: "x" } } })).toEqual({
      "stages.start.switch": "needs previous: stop-after-healthy",
    });
  });
});

test("only an administrator adds, changes or removes a host step", async () => {
  const deploy = [{ name: "reload", host: true, script: "systemctl reload nginx" }];
  const { id } = await make({ pipeline: { deploy } });
  const { id: userId, client } = await server.newUser("host-manager");
  await server.admin.expect(200, "PUT", `/api/projects/${id}/members/${userId}`, { permission: "manage" });
  const path = `/api/projects/${id}`;
  for (const changed of [
    [{ ...deploy[0], script: "rm -rf /" }],
    [...deploy, { name: "other", host: true, script: "true" }],
    [{ ...deploy[0], host: false }],
    [],
  ]) {
    const answer = await client.request("PATCH", path, { pipeline: { deploy: changed } });
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("only an administrator")]);
  }
  await client.expect(200, "PATCH", path, {
    pipeline: { build: [{ script: "make" }], deploy: [{ name: "copy", script: "cp a b" }, ...deploy] },
  });
  await client.expect(200, "PATCH", path, { env: { A: "1" } });
  const start = (switchOnHost: boolean) => ({
    web: { command: "x", switch: "nginx -s reload", switchOnHost },
  });
  await client.expect(200, "PATCH", path, { pipeline: { start: start(false) } });
  await client.expect(403, "PATCH", path, { pipeline: { start: start(true) } });
});

test("a secret is a variable or a file, and caches may lie below the home folder", async () => {
  const { id } = await make({ cache: ["~/.npm", "~/.m2/repository", "build/cache"] });
  for (const cache of ["~", "~/", "~/..", "~/a/../b", "~root/x/~", "/root", ".git/x"])
    expect(Object.keys(await faultsOf({ cache: [cache] }, id))).toEqual(["cache.0"]);
  const secrets = async () =>
    (await server.admin.expect<{ secrets: object[] }>(200, "GET", `/api/projects/${id}`)).secrets;
  const path = `/api/projects/${id}/secrets/DEPLOY_KEY`;
  const shown = { name: "DEPLOY_KEY", scope: "all", isScopeChosen: false };
  await server.admin.expect(204, "PUT", path, { value: "x" });
  expect(await secrets()).toEqual([{ ...shown, as: "variable" }]);
  await server.admin.expect(204, "PATCH", path, { as: "file" });
  await server.admin.expect(204, "PUT", path, { value: "y" });
  expect(await secrets()).toEqual([{ ...shown, as: "file" }]);
  await server.admin.expect(204, "PUT", path, { value: "y", as: "variable", scope: "deploy" });
  expect(await secrets()).toEqual([{ ...shown, scope: "deploy", isScopeChosen: true, as: "variable" }]);
  expect((await server.admin.request("PUT", path, { value: "y", as: "env" })).status).toBe(422);
});
