import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { holdersOf, listeningSockets } from "../../src/runner/keeper/port-holders.ts";
import { type GitRepository, makeRepository } from "./git-repository.ts";
import { examplesOf } from "./page-examples.ts";
import type { ProjectAnswer } from "./release-scene.ts";
import type { ServerProcess } from "./server-process.ts";

/** A page of docs/recipes: the files of its repository, and the project that its scripts and fields describe. */
export interface Recipe {
  files: Record<string, string>;
  project: { pipeline: Record<string, Fields[] | Record<string, Fields>>; env?: Record<string, string> };
}

type Fields = Record<string, unknown>;

export async function readRecipe(page: string, replaced: Record<string, string>): Promise<Recipe> {
  const named = (await examplesOf(`recipes/${page}`, replaced)).filter(({ name }) => name !== "");
  const fields = named.find(({ language, name }) => language === "json" && name === "project");
  if (!fields) throw new Error(`docs/recipes/${page} has no fields of a project.`);
  const project = JSON.parse(fields.text) as Recipe["project"];
  const files: Record<string, string> = {};
  for (const { language, name, text } of named) {
    const held = project.pipeline[name];
    if (language === "sh" && name === "switch") Object.assign(serviceOf(project), { switch: text });
    else if (language === "sh")
      project.pipeline[name] = [{ ...(Array.isArray(held) ? held[0] : {}), script: text }];
    else if (name !== "project") files[name] = text;
  }
  return { files, project };
}

function serviceOf({ pipeline: { start } }: Recipe["project"]): Fields {
  return start === undefined || Array.isArray(start) ? {} : (start.web ?? {});
}

/** One project of a recipe on a running server. */
export class RecipeRun {
  readonly repository: GitRepository;
  readonly #server: ServerProcess;
  readonly #projectId: number;

  private constructor(server: ServerProcess, repository: GitRepository, projectId: number) {
    this.#server = server;
    this.repository = repository;
    this.#projectId = projectId;
  }

  static async create(server: ServerProcess, recipe: Recipe): Promise<RecipeRun> {
    const repository = await makeRepository();
    await repository.push(recipe.files, { message: "The first version" });
    const projectId = await server.project(repository.url, {}, recipe.project);
    return new RecipeRun(server, repository, projectId);
  }

  /** Deploys the tip; returns its commit. */
  async deploy(files: Record<string, string> = {}): Promise<string> {
    const commit = await this.repository.push(files);
    await this.#server.reach((await this.#server.run(this.#projectId)).id, "success");
    return commit;
  }

  /** Deploys a commit that must fail and be rolled back; returns the reason of the task. */
  async deployBroken(files: Record<string, string>): Promise<string> {
    await this.repository.push(files, { message: "Broken" });
    const task = await this.#server.reach((await this.#server.run(this.#projectId)).id, "failed");
    return task.reason;
  }

  /** The commit that the server names as serving. */
  async liveCommit(): Promise<string | null> {
    const path = `/api/projects/${this.#projectId}`;
    const { liveTaskId } = await this.#server.admin.expect<ProjectAnswer>(200, "GET", path);
    return liveTaskId === null ? null : ((await this.#server.task(liveTaskId)).commit ?? null);
  }
}

/** What an address answers, on a new connection. */
export async function textAt(url: string): Promise<string> {
  const response = await fetch(url, { keepalive: false, headers: { connection: "close" } });
  return (await response.text()).trim();
}

export function pidsOn(port: number): number[] {
  return holdersOf(listeningSockets(port)).map(({ pid }) => pid);
}

/** A stand-in for `systemctl` where no systemd runs: it runs these commands. */
export function writeSystemctl(file: string, commands: Record<string, string>): void {
  mkdirSync(dirname(file), { recursive: true });
  const cases = Object.entries(commands).map(([command, script]) => `"${command}")\n${script}\n;;`);
  const unknown = `*) echo "systemctl $* is not part of the test" >&2; exit 64 ;;`;
  writeFileSync(file, ["#!/bin/sh -eu", 'case "$*" in', ...cases, unknown, "esac"].join("\n"), {
    mode: 0o755,
  });
}

/** A stand-in for systemd, which starts units outside of the runner. `command` asks it for a restart and waits for its end. */
export function manageUnit(folder: string, restart: string): { command: string; stop(): void } {
  const [asked, done] = [join(folder, "asked"), join(folder, "done")];
  Bun.spawnSync(["mkfifo", asked, done]);
  const loop = `while read -r _ <${asked}; do (\n${restart}\n)\necho restarted >${done}; done`;
  const manager = Bun.spawn(["sh", "-c", loop], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  return { command: `echo restart >${asked}; read -r _ <${done}`, stop: () => manager.kill() };
}

/**
 * The shell commands of a restart by systemd: the process of ExecStart, in the folder and with the environment that the unit
 * names. `as` runs the program as the unit's user.
 */
export function restartOf(unit: string, folder: string, as: string): string {
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  const pid = join(folder, "unit.pid");
  return `if [ -f ${pid} ]; then kill "$(cat ${pid})" 2>/dev/null || true; while kill -0 "$(cat ${pid})" 2>/dev/null; do sleep 0.02; done; fi
cd ${value("WorkingDirectory")}
setsid env -i PATH=/usr/bin:/bin $(cat ${value("EnvironmentFile")}) ${as} ${value("ExecStart")} >/dev/null 2>&1 &
echo $! >${pid}`;
}
