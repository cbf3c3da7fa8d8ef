import type { Random } from "../random.ts";
import type { Delivery, History, PushedTip, TaskView } from "../reconciler/history.ts";
import type { Violation } from "../reconciler/violation.ts";
import type { Instance } from "../setups/part.ts";
import { timePasses } from "../setups/part.ts";
import { type StepName, stepNames, type World } from "../setups/world.ts";
import { recordFile } from "../surroundings.ts";
import { elapsedMs } from "../timeline.ts";
import type { Api } from "./api.ts";
import type { Commits } from "./commits.ts";
import { deliver, hookSecret } from "./deliveries.ts";
import { LiveLogs } from "./live-logs.ts";
import type { NotificationReceiver } from "./notification-receiver.ts";
import { branchOf, deployPlans, type LoadProject, type Plan, releasePlans, slugOf } from "./plans.ts";
import { endEvents, ProductRecords } from "./product-records.ts";
import { Releases } from "./releases.ts";
import { ScriptRecord } from "./script-record.ts";
import { stageScript } from "./scripts.ts";

const buildBeats = 3;
const longestDeployMs = 5_000;
/** The last ones of each project. */
const logsPerProject = 8;

/** Pushes to projects continuously, and records the results. */
export class DeployLoad {
  readonly #world: World;
  readonly #random: Random;
  readonly #api: Api;
  readonly #commits: Commits;
  readonly #receiver: NotificationReceiver;
  readonly #record: ScriptRecord;
  readonly #stored: ProductRecords;
  #releases: Releases | null = null;
  #projects: LoadProject[] = [];
  #live: LiveLogs[] = [];
  #deliveries: Delivery[] = [];
  #tips = new Map<string, PushedTip>();
  #owedTasks: TaskView[] = [];
  #lastTaskId = 0;
  #roundFrom = 0;
  #isRunning = false;
  #lanes: Promise<unknown> = Promise.resolve();

  constructor(
    world: World,
    random: Random,
    services: { api: Api; commits: Commits; receiver: NotificationReceiver },
  ) {
    this.#world = world;
    this.#random = random;
    this.#api = services.api;
    this.#commits = services.commits;
    this.#receiver = services.receiver;
    this.#record = new ScriptRecord(recordFile(world.folder));
    this.#stored = new ProductRecords(world, services.api, services.receiver);
  }

  /** `receiverUrl`: the address of the receiver of notifications, as the servers reach it. */
  async prepare(receiverUrl: string): Promise<void> {
    // Twice as long as a lease, with the next task waiting, so that a hanging runner could cause both to run.
    const longBeats = Math.ceil((2 * this.#world.leaseMs) / 100);
    for (const plan of deployPlans(longBeats))
      this.#projects.push(await this.#makeProject(plan, receiverUrl));
    if (this.#world.knowsReleases) {
      this.#releases = await Releases.create(this.#world, this.#api, this.#record);
      for (const plan of releasePlans) this.#projects.push(await this.#makeProject(plan, receiverUrl));
      this.#world.steps = [...stepNames];
    }
    const ids = this.#projects.map(({ id }) => id);
    this.#live = this.#world.instances.map((instance) => new LiveLogs(this.#api, instance, ids));
  }

  start(): void {
    this.#deliveries = [];
    this.#tips.clear();
    this.#roundFrom = elapsedMs();
    for (const live of this.#live) live.lines = [];
    this.#releases?.beginRound();
    this.#isRunning = true;
    this.#lanes = Promise.all([
      ...this.#projects.map((project) => this.#lane(project)),
      ...this.#approvalProjects.map((project) => this.#approve(project)),
    ]);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#lanes;
  }

  /** Whether a server accepts a delivery now. */
  async probe(instance: Instance): Promise<Delivery> {
    const project = this.#projects[0] as LoadProject;
    const delivery = await this.#deliver(project, instance, await this.#push(project));
    return delivery;
  }

  /** Waits until the load has reached a step of a release. */
  async untilStep(step: StepName): Promise<boolean> {
    if (!this.#releases) return false;
    return this.#releases.untilStep(step, this.#projects, async (project, isBroken) =>
      this.#report(project, this.#random.pick(this.#world.instances), await this.#push(project, isBroken)),
    );
  }

  stepIsOver(): void {
    this.#releases?.stepIsOver();
  }

  /** Pushes to a project with a service, and waits until its task may be anywhere between its begin and its end. */
  async beginDeploy(random: Random, name?: string): Promise<void> {
    const projects = this.#projects.filter(({ plan }) => plan.release && !plan.release.needsApproval);
    const project = projects.find((each) => each.name === name) ?? random.pick(projects);
    const instance = this.#random.pick(this.#world.instances);
    await this.#report(project, instance, await this.#push(project, random.chance(0.2)));
    await timePasses(random.between(0, longestDeployMs));
  }

  async notServing(): Promise<Violation[]> {
    return (await this.#releases?.notServing()) ?? [];
  }

  async addTo(history: History): Promise<void> {
    for (const project of this.#approvalProjects) await this.#releases?.approve(project);
    history.projects = this.#projects.map(({ plan: _, hookPath: __, ...project }) => project);
    const after = { lastTaskId: this.#lastTaskId, from: this.#roundFrom, deliveries: this.#deliveries };
    const tasks = this.#projects.map(({ id, plan }) =>
      this.#stored.tasksOf(id, after, (commit) => this.#isBroken(plan, commit)),
    );
    history.tasks = (await Promise.all(tasks)).flat();
    history.owedTasks = this.#owedTasks;
    const records = this.#projects.map(({ id }) => this.#stored.deliveriesOf(id, this.#deliveries));
    history.records = (await Promise.all(records)).flat();
    history.tips = this.#world.knowsReleases ? [...this.#tips.values()] : [];
    history.deliveries = this.#deliveries;
    history.scriptLines = this.#record.lines();
    history.notifications = this.#receiver.received;
    history.waitingNotifications = await this.#stored.waitingNotifications();
    const isOver = history.tasks.every(({ finishedAt }) => finishedAt > 0);
    if (!isOver) return;
    await this.#releases?.addTo(history, this.#projects);
    const byProject = Map.groupBy(history.tasks, ({ projectId }) => projectId);
    const read = [...byProject.values()].flatMap((own) => own.slice(-logsPerProject));
    history.logs = await Promise.all(
      read.map(async ({ id }) => ({ taskId: id, lines: await this.#stored.logOf(id) })),
    );
    history.liveLines = this.#live.flatMap(({ lines }) => lines);
  }

  /** Call when everything is settled; later records belong to the next round. */
  endRound({ tasks, notifications, waitingNotifications }: History): void {
    this.#lastTaskId = Math.max(this.#lastTaskId, ...tasks.map(({ id }) => id));
    this.#record.endRound();
    const known = new Set(notifications.map(({ taskId, type }) => `${taskId} ${type}`));
    const isOwed = ({ id }: TaskView) => !endEvents.some((type) => known.has(`${id} ${type}`));
    this.#owedTasks = waitingNotifications > 0 ? [...this.#owedTasks, ...tasks].filter(isOwed) : [];
    for (const live of this.#live) live.keepOpen();
  }

  end(): void {
    for (const live of this.#live) live.close();
    this.#releases?.end();
  }

  get #approvalProjects(): LoadProject[] {
    return this.#projects.filter(({ release }) => release?.needsApproval);
  }

  async #makeProject(plan: Plan, receiverUrl: string): Promise<LoadProject> {
    const { name, debounceSeconds, debounceScope, release } = plan;
    const fields = release ? await this.#releases?.fieldsOf(plan, release) : this.#plainFields(plan);
    const commits = this.#commitsOf(plan);
    for (const branch of plan.branches)
      await commits.push(branchOf(plan, branch), release ? false : undefined);
    const { git, ...rest } = fields as { git: object };
    const { id } = await this.#api.call<{ id: number }>("POST", "/api/projects", {
      name,
      git: { ...git, ref: branchOf(plan, plan.branches[0] ?? "main") },
      ...rest,
      notify: [{ url: receiverUrl, events: [] }],
    });
    const hook = await this.#api.call<{ url: string }>("PUT", `/api/projects/${id}/webhook`, {
      enabled: true,
      provider: "github",
      secret: hookSecret,
      debounceSeconds,
      debounceScope,
      // Some projects share a repository, and a poll looks at all of its branches.
      branchFilter: [`${slugOf(name)}/**`],
    });
    const { url } = hook.url
      ? hook
      : await this.#api.call<{ url: string }>("GET", `/api/projects/${id}/webhook`);
    const hookPath = new URL(url).pathname;
    if (release) this.#releases?.begin(name, id);
    return { id, name, debounceMs: debounceSeconds * 1000, debounceScope, release, plan, hookPath };
  }

  #plainFields({ deployBeats }: Plan): Record<string, unknown> {
    return {
      git: { url: this.#commits.url },
      stages: {
        build: { script: stageScript(this.#record.file, buildBeats) },
        deploy: { script: stageScript(this.#record.file, deployBeats) },
      },
    };
  }

  #commitsOf(plan: Plan): Commits {
    return this.#releases?.commitsOf(plan) ?? this.#commits;
  }

  #isBroken(plan: Plan, commit: string): boolean {
    return plan.release !== null && this.#commitsOf(plan).isBroken(commit);
  }

  async #lane(project: LoadProject): Promise<void> {
    const { plan } = project;
    while (this.#isRunning) {
      if (this.#unfinished(project) >= plan.mostUnfinished) {
        await timePasses(200);
        continue;
      }
      const isBroken = plan.release ? this.#random.chance(plan.release.brokenShare) : undefined;
      const instance = this.#random.pick(this.#world.instances);
      await this.#report(project, instance, await this.#push(project, isBroken));
      await this.#pause(this.#random.between(...plan.pauses));
    }
  }

  /** A person who looks now and then. */
  async #approve(project: LoadProject): Promise<void> {
    while (this.#isRunning) {
      await this.#pause(this.#random.between(500, 3_000));
      await this.#releases?.approve(project);
    }
  }

  async #pause(ms: number): Promise<void> {
    const endAt = elapsedMs() + ms;
    while (this.#isRunning && elapsedMs() < endAt) await timePasses(50);
  }

  /** Tasks that a delivery or a notification has named; polls make tasks without a delivery. */
  #unfinished({ id }: LoadProject): number {
    const isOwn = ({ projectId }: { projectId: number }) => projectId === id;
    const told = this.#receiver.received.filter(isOwn);
    const made = [...this.#deliveries.filter(isOwn), ...told].flatMap(({ taskId }) => taskId ?? []);
    const ended = new Set(told.filter(({ type }) => endEvents.includes(type)).map(({ taskId }) => taskId));
    return new Set(made.filter((taskId) => !ended.has(taskId))).size;
  }

  async #push({ id, plan }: LoadProject, isBroken?: boolean): Promise<PushedTip> {
    const branch = branchOf(plan, this.#random.pick(plan.branches));
    const ref = `refs/heads/${branch}`;
    const commit = await this.#commitsOf(plan).push(branch, isBroken);
    const tip = { projectId: id, ref, commit };
    this.#tips.set(`${id} ${ref}`, tip);
    return tip;
  }

  /** As the Git host does; of a polled project it reports nothing. */
  async #report(project: LoadProject, instance: Instance, tip: PushedTip): Promise<void> {
    if (!project.plan.release?.isPolled) await this.#deliver(project, instance, tip);
  }

  async #deliver(project: LoadProject, instance: Instance, { ref, commit }: PushedTip): Promise<Delivery> {
    const branch = ref.replace("refs/heads/", "");
    const delivery = await deliver(instance, project.id, project.hookPath, branch, commit);
    this.#deliveries.push(delivery);
    return delivery;
  }
}
