import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Pipeline } from "../../src/model/pipeline.ts";
import { type FileSource, withProjectSettings } from "../../src/model/pipeline-file/file-source.ts";
import { readPipelineFile } from "../../src/model/pipeline-file/read-file.ts";
import { writePipelineFile } from "../../src/model/pipeline-file/write-file.ts";
import { serviceDefaults } from "../../src/model/service/service.ts";
import {
  type Caller,
  callerWith,
  copyInstallation,
  type Installation,
  type RunningServer,
  recordedDatabases,
  startOn,
} from "./recording.ts";

/** As version 1.0 stored a start stage without a script. */
const recorded = '"start":{"script":"","timeout":null,"previous":"stop-first","healthCheck":null';

const http = { type: "http", url: "http://127.0.0.1:3000/", timeoutSeconds: 30 };
const check = { http: http.url, tcp: "", command: "", expect: "", within: 30 };

/** Start stages of version 1.0, by the project that gets them. */
const stages = {
  windowed: { script: "nohup node server.js >server.log 2>&1 &", healthCheck: http, log: "server.log" },
  "disabled hook": { script: "node a.js &\nnode b.js &", settleSeconds: 30 },
  "hook generic": { script: "pkill -f server.js\nnode server.js &", previous: "keep" },
  "hook gitee": { script: "./serve &", previous: "stop-after-healthy", switch: "nginx -s reload" },
  "hook gitea": { script: "docker compose up -d", previous: "keep", healthCheck: http },
  "hook gitlab": { script: "systemctl restart shop", previous: "stop-after-healthy", switch: "reload" },
};

const written = (start: object) => {
  const stage = { script: "", timeout: null, previous: "stop-first", healthCheck: null, ...start };
  return `"start":${JSON.stringify(stage).slice(0, -1)}`;
};

interface Project {
  id: number;
  name: string;
  stages: { start: object } | null;
  pipeline: { start: object };
  rollbackWithin: number;
  warnings: string[];
}

describe.each(await recordedDatabases())("start scripts of the recorded installation on %s", (name) => {
  let installation: Installation;
  let server: RunningServer;
  let admin: Caller;
  let tasksBefore: number;
  const rewrite = (table: string, column: string, where: string, start: object) =>
    installation.query(
      `update ${table} set ${column} = replace(${column}, '${recorded}', '${written(start)}') where ${where}`,
    );
  const countTasks = async () =>
    Number((await installation.query("select count(*) as count from tasks"))[0]?.count);
  const startOf = async (project: string) => {
    const { items } = await admin<{ items: Project[] }>("GET", "/api/projects?pageSize=200");
    const found = items.find((each) => each.name === project);
    return admin<Project>("GET", `/api/projects/${found?.id}`);
  };
  beforeAll(async () => {
    installation = await copyInstallation(name);
    for (const [project, start] of Object.entries(stages))
      await rewrite("projects", "stages", `name = '${project}'`, start);
    await rewrite("releases", "stages", `task_id = ${installation.facts.tasks.real}`, stages.windowed);
    await rewrite("tasks", "approval", `id = ${installation.facts.tasks.waiting}`, stages.windowed);
    tasksBefore = await countTasks();
    server = await startOn(installation);
    admin = callerWith(server.url, installation.facts.sessions.admin);
  });
  afterAll(async () => {
    await server?.stop();
    await installation?.remove();
  });

  test("every project is exported as a file that deploys the same", async () => {
    const { items } = await admin<{ items: { id: number; name: string; pipeline: Pipeline }[] }>(
      ...(["GET", "/api/projects?pageSize=200"] as const),
    );
    expect(items.length).toBeGreaterThan(10);
    for (const { id, name, pipeline } of items) {
      const read = readPipelineFile(writePipelineFile(pipeline));
      if (Array.isArray(read)) throw new Error(`${name}: ${JSON.stringify(read)}`);
      const change = { pipeline: { from: "repository" } };
      const { pipelineFile } = await admin<{ pipelineFile: FileSource }>(
        "PATCH",
        `/api/projects/${id}`,
        change,
      );
      expect(withProjectSettings(read.pipeline, pipelineFile)).toEqual({ pipeline, faults: [] });
      await admin("PATCH", `/api/projects/${id}`, { pipeline: { from: "project" } });
    }
  });

  test("one command in the background is a service, and is answered as a start script", async () => {
    const { pipeline, stages: answered, rollbackWithin } = await startOf("windowed");
    const web = { ...serviceDefaults, command: "node server.js", port: 3000, check };
    expect(pipeline.start).toEqual({ web });
    expect(answered?.start).toMatchObject({
      ...{ script: "node server.js &", healthCheck: http, previous: "stop-first", log: "" },
    });
    expect(rollbackWithin).toBe(10);
  });

  test("another script with a background is executed by a service, with a warning", async () => {
    for (const project of ["disabled hook", "hook generic"] as const) {
      const { pipeline, stages: answered, warnings } = await startOf(project);
      const { script } = stages[project];
      const web = { ...serviceDefaults, command: script, background: true, port: "none" };
      expect(pipeline.start).toEqual({ web });
      expect(answered?.start).toMatchObject({ script, previous: "stop-first" });
      expect(warnings.join()).toContain("web");
    }
  });

  test("a service that runs beside the one before it keeps its switch script", async () => {
    const { pipeline } = await startOf("hook gitee");
    const web = { ...serviceDefaults, command: "./serve", port: "$PORT", switch: "nginx -s reload" };
    expect(pipeline.start).toEqual({ web });
  });

  test("a script without a background stays a step, with its check and its switch script", async () => {
    expect((await startOf("hook gitea")).pipeline.start).toMatchObject([
      { name: "start", script: "docker compose up -d", check },
    ]);
    const { pipeline, stages: answered } = await startOf("hook gitlab");
    expect(pipeline.start).toMatchObject([
      { name: "start", script: "systemctl restart shop", check: null },
      { name: "switch", script: "reload" },
    ]);
    expect(answered).toBeNull();
  });

  test("services have no routes at first, and get some; runners have said nothing of a proxy", async () => {
    const { id, pipeline } = await startOf("windowed");
    const { web } = pipeline.start as { web: object };
    const change = { pipeline: { start: { web: { ...web, routes: [{ domains: ["shop.example.com"] }] } } } };
    type Routed = Project & { publicUrl: string; allowedDomains: string[] | null };
    const changed = await admin<Routed>("PATCH", `/api/projects/${id}`, change);
    expect([changed.publicUrl, changed.allowedDomains]).toEqual(["https://shop.example.com/", null]);
    expect(await installation.query("select domain, path from route_places")).toEqual([
      { domain: "shop.example.com", path: "/" },
    ]);
    const runners = await admin<{ items: { proxy: null; proxyNote: string }[] }>("GET", "/api/runners");
    expect(new Set(runners.items.map(({ proxy, proxyNote }) => `${proxy} ${proxyNote}`))).toEqual(
      new Set(["null "]),
    );
    await admin("PATCH", `/api/projects/${id}`, { pipeline: { start: { web } } });
    expect(await installation.query("select domain from route_places")).toEqual([]);
  });

  test("releases and pinned approvals are migrated too, and no task is created", async () => {
    const [release] = await installation.query(
      `select pipeline from releases where task_id = ${installation.facts.tasks.real}`,
    );
    const [task] = await installation.query(
      `select approval from tasks where id = ${installation.facts.tasks.waiting}`,
    );
    const web = { ...serviceDefaults, command: "node server.js", port: 3000, check };
    expect(JSON.parse(String(release?.pipeline)).start).toEqual({ web });
    expect(JSON.parse(String(task?.approval)).pinned.pipeline.start).toEqual({ web });
    expect(await countTasks()).toBe(tasksBefore);
    // The release is complete for whoever reads it.
    const { projectId } = await admin("GET", `/api/tasks/${installation.facts.tasks.real}`);
    const { items } = await admin<{ items: { setting: string }[] }>(
      "GET",
      `/api/projects/${projectId}/releases/${installation.facts.tasks.real}/settings`,
    );
    expect(items.map(({ setting }) => setting)).toContain("services.web.command");
  });
});
