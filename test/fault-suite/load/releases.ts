import { freePort } from "../../support/free-port.ts";
import type { History, ServiceView } from "../reconciler/history.ts";
import { until } from "../setups/part.ts";
import type { StepName, World } from "../setups/world.ts";
import { scriptsFolder } from "../surroundings.ts";
import type { Api } from "./api.ts";
import { type Commits, makeCommits } from "./commits.ts";
import { type GitHost, startGitHost } from "./git-host.ts";
import { type LoadProject, type Plan, slugOf } from "./plans.ts";
import type { ScriptRecord } from "./script-record.ts";
import { stageScript, startScript, switchScript } from "./scripts.ts";
import { ProjectService } from "./services.ts";

const stageBeats = 2;
const commitCount = 2_000;
const stepLimitMs = 25_000;

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
    const port = rules.previous === "stop-first" ? freePort() : null;
    const service = new ProjectService(scriptsFolder(folder), this.#record.file, plan.name, port);
    const repository = `release-${slugOf(plan.name)}`;
    this.#releases.set(plan.name, { service, commits: await makeCommits(folder, repository, commitCount) });
    const url = `http://127.0.0.1:${port ?? "$PORT"}/`;
    return {
      git: { url: `${this.#host.url}/${repository}.git` },
      stages: {
        build: { script: stageScript(this.#record.file, stageBeats) },
        start: {
          script: startScript(this.#record.file, stageBeats, service.command),
          previous: rules.previous,
          healthCheck: { type: "http", url, expect: "$CI_COMMIT", timeoutSeconds: 20 },
          ...(port === null ? { switch: switchScript(this.#record.file, service.upstreamFile) } : {}),
        },
      },
      ...(rules.needsApproval ? { deploy: { approval: "required" } } : {}),
    };
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
    const plain = find((rules) => rules.previous === "stop-first" && !rules.needsApproval);
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
    const project = step === "switch" ? find((rules) => rules.previous === "stop-after-healthy") : plain;
    await this.#untilServing(project, () => push(project, false));
    const isBegun = this.#record.next(({ projectId, event, stage, isRollback }) => {
      if (projectId !== project.id) return false;
      if (step === "rollback") return isRollback && event === "start" && stage === "start";
      return event === (step === "switch" ? "switching" : "stopping");
    }, stepLimitMs);
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
      overlaps: service.overlaps,
      running: service.pids().length,
    };
  }
}
