import { readFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { type App, buildApp } from "../../src/app.ts";
import type { Config } from "../../src/config/config.ts";
import { configOf } from "../../src/config/config-load.ts";
import type { StageName } from "../../src/model/stage/stage-name.ts";
import type { LogLineJson, TaskJson } from "../../src/task/view/task-json.ts";
import { type ApiClient, adminPassword, signInAt } from "./api-server.ts";
import { eventually } from "./eventually.ts";
import { endScriptsIn } from "./process-watch.ts";
import { runnerFolderOf, scratchOf, temporaryFolder } from "./temporary-folder.ts";

/** The whole product on port 0, with its local runner in a separate process. */
export interface DeployServer {
  app: App;
  url: string;
  dataDir: string;
  /** Folder of clones, workspaces and caches. */
  runnerDir: string;
  /** A folder that scripts can read and write. */
  scratch: string;
  admin: ApiClient;
  logLines: string[];
  /** Creates a project for a repository on this machine; its scripts are those of `pipeline`, if `more` has one. */
  project(gitUrl: string, scripts: Scripts, more?: Record<string, unknown>): Promise<number>;
  run(projectId: number, body?: Record<string, unknown>): Promise<TaskJson>;
  task(id: number): Promise<TaskJson>;
  /** Waits until the task is in one of these states. */
  reach(id: number, ...states: TaskJson["state"][]): Promise<TaskJson>;
  log(id: number): Promise<LogLineJson[]>;
  /** Waits until a line of the log contains the text. */
  logged(id: number, text: string): Promise<LogLineJson[]>;
  runnerPid(): number;
  /** As Ctrl-C: the services of its runner end too. */
  stop(): Promise<void>;
  /** Ends what scripts and services left running. */
  remove(): void;
}

export type Scripts = Partial<Record<StageName, string>>;

const finished = ["success", "failed", "canceled", "timeout", "lost"] as const;

/** A task starts git and a shell per stage, which takes long on a busy machine. */
const taskWithinMs = 90_000;

export function taskSettings(dataDir: string, settings: Partial<Config> = {}): Config {
  return configOf({
    "server.listen": { host: "127.0.0.1", port: 0 },
    "data.dir": dataDir,
    "runner.dir": runnerFolderOf(dataDir),
    // Most tests follow processes by their ids, and let scripts write to folders of the test.
    "runner.isolation": "none",
    "tasks.allowLocalRepositories": true,
    "tasks.allowInternalNotifications": true,
    "tasks.stopGrace": 500,
    "push.drain-delay": 0,
    "push.drain-period": 0,
    "webhook.debounceSeconds": 0,
    ...settings,
  });
}

export async function startDeployServer(
  settings: Partial<Config> = {},
  dataDir = temporaryFolder("task"),
): Promise<DeployServer> {
  process.env.SLIPWAY_ADMIN_PASSWORD = adminPassword;
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) });
  const app = await buildApp(taskSettings(dataDir, settings), "start", log);
  const remove = () => {
    endScriptsIn(dataDir);
    endScriptsIn(runnerFolderOf(dataDir));
  };
  return {
    app,
    dataDir,
    runnerDir: runnerFolderOf(dataDir),
    logLines,
    ...(await deployClient(app.url, dataDir)),
    stop: () => app.stop("SIGINT"),
    remove,
  };
}

/** The same interface for a server in another process. */
export async function deployClient(
  url: string,
  dataDir: string,
): Promise<Omit<DeployServer, "app" | "dataDir" | "runnerDir" | "logLines" | "stop" | "remove">> {
  const admin = await signInAt(url, "admin", adminPassword);
  const task = (id: number) => admin.expect<TaskJson>(200, "GET", `/api/tasks/${id}`);
  /** Continues `lines`, which are the first of the log. */
  const log = async (id: number, lines: LogLineJson[] = []) => {
    for (;;) {
      const page = await admin.expect<{ lines: LogLineJson[]; next: number }>(
        200,
        "GET",
        `/api/tasks/${id}/log?from=${lines.length}&limit=5000`,
      );
      lines.push(...page.lines);
      if (page.lines.length === 0) return lines;
    }
  };
  return {
    url,
    scratch: scratchOf(dataDir),
    admin,
    task,
    log: (id) => log(id),
    async project(gitUrl, scripts, more = {}) {
      const stages = Object.fromEntries(Object.entries(scripts).map(([name, script]) => [name, { script }]));
      const steps = "pipeline" in more ? {} : { stages };
      const body = { name: `shop ${crypto.randomUUID()}`, git: { url: gitUrl }, ...steps, ...more };
      return (await admin.expect<{ id: number }>(201, "POST", "/api/projects", body)).id;
    },
    run: (projectId, body = {}) => admin.expect(201, "POST", `/api/projects/${projectId}/tasks`, body),
    async reach(id, ...states) {
      const wanted: readonly string[] = states.length > 0 ? states : finished;
      let seen = await task(id);
      await eventually(
        `task ${id} is ${wanted.join(" or ")}`,
        async () => {
          seen = await task(id);
          if (!wanted.includes(seen.state) && (finished as readonly string[]).includes(seen.state))
            throw new Error(`task ${id} ended as ${seen.state}: ${seen.reason}`);
          return wanted.includes(seen.state);
        },
        taskWithinMs,
      );
      return seen;
    },
    async logged(id, text) {
      const lines: LogLineJson[] = [];
      await eventually(
        `the log of task ${id} has "${text}"`,
        async () => {
          const known = lines.length;
          await log(id, lines);
          return lines.slice(known).some((line) => line.text.includes(text));
        },
        taskWithinMs,
      );
      return lines;
    },
    runnerPid: () =>
      (JSON.parse(readFileSync(join(dataDir, "runner/local.pid"), "utf8")) as { pid: number }).pid,
  };
}

export function textOf(lines: LogLineJson[]): string {
  return lines.map((line) => line.text).join("\n");
}
