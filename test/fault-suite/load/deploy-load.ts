import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../random.ts";
import type { Delivery, DeployProject, History, ScriptLine, TaskView } from "../reconciler/history.ts";
import type { Instance } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { elapsedMs } from "../timeline.ts";
import type { Api } from "./api.ts";
import type { Commits } from "./commits.ts";
import { deliver, hookSecret } from "./deliveries.ts";
import { LiveLogs } from "./live-logs.ts";
import type { NotificationReceiver } from "./notification-receiver.ts";
import { stageScript } from "./scripts.ts";

interface Plan {
  name: string;
  debounceSeconds: number;
  debounceScope: "project" | "ref";
  branches: string[];
  deployBeats: number;
  /** Milliseconds between two pushes. */
  pauses: [number, number];
  /** No push while this many tasks are unfinished. */
  mostUnfinished: number;
}

const buildBeats = 3;
const pageSize = 200;
const logsPerRound = 25;

interface LoadProject extends DeployProject {
  plan: Plan;
  hookPath: string;
}

/** Pushes to projects continuously, and records the results. */
export class DeployLoad {
  readonly #world: World;
  readonly #random: Random;
  readonly #api: Api;
  readonly #commits: Commits;
  readonly #receiver: NotificationReceiver;
  readonly #recordFile: string;
  #projects: LoadProject[] = [];
  #live: LiveLogs[] = [];
  #deliveries: Delivery[] = [];
  #owedTasks: TaskView[] = [];
  #lastTaskId = 0;
  #roundFrom = 0;
  #recordRead = 0;
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
    this.#recordFile = join(world.folder, "scripts.record");
  }

  /** `receiverUrl`: the address of the receiver of notifications, as the servers reach it. */
  async prepare(receiverUrl: string): Promise<void> {
    // Twice as long as a lease, with the next task waiting, so that a hanging runner could cause both to run.
    const longBeats = Math.ceil((2 * this.#world.leaseMs) / 100);
    const plans: Plan[] = [
      plan("every push", { pauses: [1_500, 4_000] }),
      plan("window", { debounceSeconds: 2, pauses: [400, 2_500] }),
      plan("window per branch", {
        debounceSeconds: 1,
        debounceScope: "ref",
        branches: ["main", "next"],
        pauses: [800, 3_000],
      }),
      plan("long deploys", { deployBeats: longBeats, pauses: [500, 3_000], mostUnfinished: 2 }),
    ];
    for (const each of plans) this.#projects.push(await this.#makeProject(each, receiverUrl));
    const ids = this.#projects.map(({ id }) => id);
    this.#live = this.#world.instances.map((instance) => new LiveLogs(this.#api, instance, ids));
  }

  start(): void {
    this.#deliveries = [];
    this.#roundFrom = elapsedMs();
    for (const live of this.#live) live.lines = [];
    this.#isRunning = true;
    this.#lanes = Promise.all(this.#projects.map((project) => this.#lane(project)));
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#lanes;
  }

  /** Whether a server accepts a delivery now. */
  async probe(instance: Instance): Promise<Delivery> {
    return this.#push(this.#projects[0] as LoadProject, instance);
  }

  async addTo(history: History): Promise<void> {
    history.projects = this.#projects.map(({ id, name, debounceMs, debounceScope }) => ({
      id,
      name,
      debounceMs,
      debounceScope,
    }));
    history.tasks = (await Promise.all(this.#projects.map(({ id }) => this.#tasksOf(id)))).flat();
    history.owedTasks = this.#owedTasks;
    await this.#markRecorded();
    history.deliveries = this.#deliveries;
    history.scriptLines = this.#readRecord();
    history.notifications = this.#receiver.received;
    history.waitingNotifications = await this.#waitingNotifications();
    const isOver = history.tasks.every(({ finishedAt }) => finishedAt > 0);
    if (!isOver) return;
    history.logs = await Promise.all(
      history.tasks
        .slice(-logsPerRound)
        .map(async ({ id }) => ({ taskId: id, lines: await this.#logOf(id) })),
    );
    history.liveLines = this.#live.flatMap(({ lines }) => lines);
  }

  /** Call when everything is settled; later records belong to the next round. */
  endRound({ tasks, notifications, waitingNotifications }: History): void {
    this.#lastTaskId = Math.max(this.#lastTaskId, ...tasks.map(({ id }) => id));
    this.#recordRead = existsSync(this.#recordFile) ? readFileSync(this.#recordFile).length : 0;
    const known = new Set(notifications.map(({ taskId, type }) => `${taskId} ${type}`));
    const isOwed = ({ id }: TaskView) => !endEvents.some((type) => known.has(`${id} ${type}`));
    this.#owedTasks = waitingNotifications > 0 ? [...this.#owedTasks, ...tasks].filter(isOwed) : [];
    for (const live of this.#live) live.keepOpen();
  }

  end(): void {
    for (const live of this.#live) live.close();
  }

  async #makeProject(each: Plan, receiverUrl: string): Promise<LoadProject> {
    const { name, debounceSeconds, debounceScope } = each;
    for (const branch of each.branches) await this.#commits.push(branchOf(each, branch));
    const { id } = await this.#api.call<{ id: number }>("POST", "/api/projects", {
      name,
      git: { url: this.#commits.url, ref: branchOf(each, each.branches[0] ?? "main") },
      stages: {
        build: { script: stageScript(this.#recordFile, buildBeats) },
        deploy: { script: stageScript(this.#recordFile, each.deployBeats) },
      },
      notify: [{ url: receiverUrl, events: [] }],
    });
    const hook = await this.#api.call<{ url: string }>("PUT", `/api/projects/${id}/webhook`, {
      enabled: true,
      provider: "github",
      secret: hookSecret,
      debounceSeconds,
      debounceScope,
    });
    const { url } = hook.url
      ? hook
      : await this.#api.call<{ url: string }>("GET", `/api/projects/${id}/webhook`);
    const hookPath = new URL(url).pathname;
    return { id, name, debounceMs: debounceSeconds * 1000, debounceScope, plan: each, hookPath };
  }

  async #lane(project: LoadProject): Promise<void> {
    while (this.#isRunning) {
      if (this.#unfinished(project) >= project.plan.mostUnfinished) {
        await Bun.sleep(200);
        continue;
      }
      await this.#push(project, this.#random.pick(this.#world.instances));
      const endAt = elapsedMs() + this.#random.between(...project.plan.pauses);
      while (this.#isRunning && elapsedMs() < endAt) await Bun.sleep(50);
    }
  }

  #unfinished({ id }: LoadProject): number {
    const made = this.#deliveries.flatMap(({ projectId, taskId }) =>
      projectId === id ? (taskId ?? []) : [],
    );
    const ended = new Set(
      this.#receiver.received.filter(({ type }) => endEvents.includes(type)).map(({ taskId }) => taskId),
    );
    return new Set(made.filter((taskId) => !ended.has(taskId))).size;
  }

  async #push(project: LoadProject, instance: Instance): Promise<Delivery> {
    const branch = branchOf(project.plan, this.#random.pick(project.plan.branches));
    const commit = await this.#commits.push(branch);
    const delivery = await deliver(instance, project.id, project.hookPath, branch, commit);
    this.#deliveries.push(delivery);
    return delivery;
  }

  async #tasksOf(projectId: number): Promise<TaskView[]> {
    const tasks: TaskView[] = [];
    for (let page = 1; ; page++) {
      const { items } = await this.#api.call<{ items: ApiTask[] }>(
        "GET",
        `/api/tasks?projectId=${projectId}&pageSize=${pageSize}&page=${page}`,
      );
      const fresh = items.filter(({ id }) => id > this.#lastTaskId);
      tasks.push(...fresh.map((task) => this.#viewOf(task)));
      if (fresh.length < pageSize) return tasks.sort((a, b) => a.id - b.id);
    }
  }

  /** By the clock of the suite, because that of a server may be wrong. */
  #viewOf({ id, projectId, state, reason, commit, attempt }: ApiTask): TaskView {
    const made = this.#deliveries.find(({ taskId }) => taskId === id);
    const end = this.#receiver.received.find(({ taskId, type }) => taskId === id && endEvents.includes(type));
    const isOver = endStates.includes(state);
    return {
      id,
      projectId,
      state,
      reason: reason ?? "",
      commit: commit ?? "",
      attempt,
      createdAt: made?.sentAt ?? this.#roundFrom,
      finishedAt: isOver ? (end?.at ?? elapsedMs()) : 0,
    };
  }

  /** From the first page of the list, else one by one: a clock that was set back moves records down the list. */
  async #markRecorded(): Promise<void> {
    for (const project of this.#projects) {
      const isOpen = ({ projectId, deliveryId, isRecorded }: Delivery) =>
        projectId === project.id && deliveryId !== null && !isRecorded;
      const open = this.#deliveries.filter(isOpen);
      if (open.length === 0) continue;
      const path = `/api/webhooks/deliveries?projectId=${project.id}&pageSize=${pageSize}`;
      const { items } = await this.#api.call<{ items: { id: number }[] }>("GET", path);
      const known = new Set(items.map(({ id }) => id));
      for (const delivery of open) delivery.isRecorded = known.has(delivery.deliveryId ?? 0);
      for (const delivery of open.filter(isOpen)) {
        const found = await this.#api
          .call<{ id: number }>("GET", `/api/webhooks/deliveries/${delivery.deliveryId}`)
          .catch(() => null);
        delivery.isRecorded = found?.id === delivery.deliveryId;
        this.#world.timeline.add(`delivery ${delivery.deliveryId} is not on the first page of the list`);
      }
    }
  }

  #readRecord(): ScriptLine[] {
    if (!existsSync(this.#recordFile)) return [];
    const text = readFileSync(this.#recordFile).subarray(this.#recordRead).toString();
    return text.split("\n").flatMap((line) => {
      const [event, projectId, taskId, attempt, stage, commit] = line.split(" ");
      if (event !== "start" && event !== "beat" && event !== "end") return [];
      const numbers = { projectId: Number(projectId), taskId: Number(taskId), attempt: Number(attempt) };
      return [{ event, ...numbers, stage: stage ?? "", commit: commit ?? "" }];
    });
  }

  async #logOf(taskId: number): Promise<{ index: number; text: string }[]> {
    const lines: { index: number; text: string }[] = [];
    for (;;) {
      const path = `/api/tasks/${taskId}/log?from=${lines.length}&limit=1000`;
      const page = await this.#api.call<{ lines: { index: number; text: string }[] }>("GET", path);
      lines.push(...page.lines);
      if (page.lines.length === 0) return lines;
    }
  }

  async #waitingNotifications(): Promise<number> {
    const counts = await Promise.all(
      this.#world.instances.map(async ({ url }) => {
        const metrics = await fetch(`${url}/metrics`, { keepalive: false }).then((answer) => answer.text());
        return Number(/^slipway_outgoing_calls_waiting (\d+)/m.exec(metrics)?.[1] ?? 0);
      }),
    );
    return Math.max(0, ...counts);
  }
}

const endStates = ["success", "failed", "canceled", "timeout", "lost"];
const endEvents = ["task.succeeded", "task.failed", "task.canceled", "task.timeout", "task.lost"];

interface ApiTask {
  id: number;
  projectId: number;
  state: string;
  reason: string | null;
  commit: string | null;
  attempt: number;
}

function plan(name: string, more: Partial<Plan>): Plan {
  return {
    name,
    debounceSeconds: 0,
    debounceScope: "project",
    branches: ["main"],
    deployBeats: 5,
    pauses: [1_000, 3_000],
    mostUnfinished: 12,
    ...more,
  };
}

/** Branches of one repository; each project has its own, so that other pushes do not move it. */
function branchOf({ name }: Plan, branch: string): string {
  return `${name.replaceAll(" ", "-")}/${branch}`;
}
