import { freePort } from "../../support/free-port.ts";
import type { History, ServiceView } from "../reconciler/history.ts";
import { type Violation, violation } from "../reconciler/violation.ts";
import { until } from "../setups/part.ts";
import type { LoadService, StepName, World } from "../setups/world.ts";
import { runnerFolder, scriptsFolder } from "../surroundings.ts";
import type { Api } from "./api.ts";
import { type Commits, makeCommits } from "./commits.ts";
import { type GitHost, startGitHost } from "./git-host.ts";
import { type LoadProject, type Plan, slugOf } from "./plans.ts";
import { endStates } from "./product-records.ts";
import type { ScriptRecord } from "./script-record.ts";
import { stageScript, switchScript } from "./scripts.ts";
import { ProjectService } from "./services.ts";

const stageBeats = 2;
const commitCount = 2_000;
const stepLimitMs = 25_000;
const actionLimitMs = 90_000;
/** What should serve serves this soon after a fault. */
const serveLimitMs = 10_000;

interface Release {
  service: ProjectService;
  commits: Commits;
}

/** Repositories, services and approvals of the projects that have releases. */
export class Releases {
  readonly #world: World;
  readonly #api: Api;
  readonly #record: ScriptRecord;
  readonly #host: GitHost;
  readonly #releases = new Map<string, Release>();
  /** Approvals are held back while a fault is to hit a task that waits. */
  #holdsApprovals = false;

  private constructor(world: World, api: Api, record: ScriptRecord, host: GitHost) {
    this.#world = world;
    this.#api = api;
    this.#record = record;
    this.#host = host;
  }

  static async create(world: World, api: Api, record: ScriptRecord): Promise<Releases> {
    const host = await startGitHost(world.folder);
    world.links.push(host.link);
    return new Releases(world, api, record, host);
  }

  commitsOf({ name }: Plan): Commits | undefined {
    return this.#releases.get(name)?.commits;
  }

  /** The fields of a project with a service of its own and a repository of its own. */
  async fieldsOf(plan: Plan, rules: NonNullable<Plan["release"]>): Promise<Record<string, unknown>> {
    const { folder } = this.#world;
    const port = rules.port === "fixed" ? freePort() : null;
    const runners = this.#world.parts.filter(({ role }) => role === "runner");
    const folders = new Map(runners.map(({ name }) => [name, runnerFolder(folder, name)]));
    const files = { folder: scriptsFolder(folder), record: this.#record.file };
    const service = new ProjectService(plan.name, port, folders, files);
    const repository = `release-${slugOf(plan.name)}`;
    this.#releases.set(plan.name, { service, commits: await makeCommits(folder, repository, commitCount) });
    const step = { script: stageScript(this.#record.file, stageBeats) };
    return {
      git: { url: `${this.#host.url}/${repository}.git` },
      pipeline: {
        build: [step],
        deploy: [step],
        start: {
          web: {
            command: service.command,
            port: port ?? "$PORT",
            check: { http: "/", expect: "$CI_COMMIT", within: 20 },
            drain: 1,
            stopGrace: 2,
            ...(port === null ? { switch: switchScript(this.#record.file, service.upstreamFile) } : {}),
          },
        },
      },
      // Faults that end a service again and again are no fault of its release.
      rollbackWithin: 0,
      ...(rules.needsApproval ? { deploy: { approval: "required" } } : {}),
    };
  }

  /** The project of a plan was created. */
  begin(name: string, projectId: number): void {
    const service = this.#releases.get(name)?.service as ProjectService;
    service.watch(projectId, this.#api);
    this.#world.services.push({
      name,
      get hasServed() {
        return service.hasServed;
      },
      pids: () => service.pids(),
      keepers: () => service.keepers(),
      runner: () => service.runner(),
      serves: (limitMs) => service.serves(limitMs),
      act: (action) => this.#act(service, action),
    });
  }

  async #act(
    { projectId, name }: ProjectService,
    action: Parameters<LoadService["act"]>[0],
  ): Promise<Violation[]> {
    const path = `/api/projects/${projectId}/services/web/${action}`;
    const { id } = await this.#api.call<{ id: number }>("POST", path);
    let task = { state: "queued", reason: "" };
    await until(
      async () => {
        task = await this.#api.call("GET", `/api/tasks/${id}`);
        return endStates.includes(task.state);
      },
      actionLimitMs,
      200,
    );
    if (task.state === "success") return [];
    const text = `the ${action} of ${name} (task ${id}) is ${task.state}: ${task.reason}`;
    return [violation(endStates.includes(task.state) ? "action-failed" : "task-never-ends", text)];
  }

  /** What should serve and does not. */
  async notServing(): Promise<Violation[]> {
    const found = await Promise.all(
      this.#world.services.map(async ({ name, hasServed, serves }) => {
        if (!hasServed || (await serves(serveLimitMs))) return [];
        return [violation("not-serving", `${name} does not answer ${serveLimitMs / 1000} s after a fault`)];
      }),
    );
    return found.flat();
  }

  /** Approves what waits. The record says so first, so that a deploy before it is found. */
  async approve({ id }: LoadProject): Promise<void> {
    if (this.#holdsApprovals) return;
    for (const taskId of await this.#waiting(id)) {
      this.#record.approving(id, taskId);
      await this.#api.call("POST", `/api/tasks/${taskId}/approve`, {}).catch(() => undefined);
    }
  }

  async #waiting(projectId: number): Promise<number[]> {
    const path = `/api/tasks?projectId=${projectId}&state=waiting&pageSize=50`;
    const list = await this.#api.call<{ items: { id: number }[] }>("GET", path).catch(() => ({ items: [] }));
    return list.items.map(({ id }) => id);
  }

  /** Brings a step about by a push, and waits until it has begun. */
  async untilStep(
    step: StepName,
    projects: LoadProject[],
    push: (project: LoadProject, isBroken: boolean) => Promise<unknown>,
  ): Promise<boolean> {
    const find = (isWanted: (rules: NonNullable<Plan["release"]>) => boolean) =>
      projects.find(({ plan }) => plan.release && isWanted(plan.release)) as LoadProject;
    const plain = find((rules) => rules.port === "fixed" && !rules.needsApproval);
    if (step === "poll") return until(() => this.#host.isAsked(), stepLimitMs, 5);
    if (step === "approval") {
      const { id } = find((rules) => rules.needsApproval);
      this.#holdsApprovals = true;
      await push(
        find((rules) => rules.needsApproval),
        false,
      );
      return until(async () => (await this.#waiting(id)).length > 0, stepLimitMs, 200);
    }
    const project = step === "switch" ? find((rules) => rules.port === "chosen") : plain;
    await this.#untilServing(project, () => push(project, false));
    // At a rollback the service of the release before starts again.
    const wanted = { switch: "switching", rollback: "serving", stop: "stopping" }[step];
    const isBegun = this.#record.next(
      ({ projectId, event }) => projectId === project.id && event === wanted,
      stepLimitMs,
    );
    await push(project, step === "rollback");
    return isBegun;
  }

  /** An earlier fault may have left nothing that a release could stop or return to. */
  async #untilServing({ name }: LoadProject, push: () => Promise<unknown>): Promise<void> {
    const service = this.#releases.get(name)?.service;
    if (!service || (await service.served()) !== null) return;
    await push();
    await until(async () => (await service.served()) !== null, stepLimitMs, 100);
  }

  stepIsOver(): void {
    this.#holdsApprovals = false;
  }

  async addTo(history: History, projects: LoadProject[]): Promise<void> {
    const own = projects.filter(({ plan }) => plan.release);
    history.services = await Promise.all(own.map((project) => this.#viewOf(project)));
  }

  beginRound(): void {
    for (const { service } of this.#releases.values()) service.beginRound();
  }

  end(): void {
    for (const { service } of this.#releases.values()) service.end();
    this.#host.stop();
  }

  async #viewOf({ id, name }: LoadProject): Promise<ServiceView> {
    const service = this.#releases.get(name)?.service as ProjectService;
    const project = await this.#api.call<{ liveTaskId: number | null; liveNote: string }>(
      "GET",
      `/api/projects/${id}`,
    );
    const live =
      project.liveTaskId === null
        ? null
        : await this.#api.call<{ commit: string | null }>("GET", `/api/tasks/${project.liveTaskId}`);
    return {
      projectId: id,
      served: await service.served(),
      live: live?.commit ?? null,
      liveNote: project.liveNote,
      running: service.pids().length,
      moments: [...service.moments],
    };
  }
}
