import type {
  ClientEvent,
  ClientHistory,
  Delivery,
  FaultWindow,
  History,
  PresenceEvent,
  PublishAttempt,
  PublishedMessage,
  ReleaseRules,
  ScriptLine,
  ServiceMoment,
  ServiceView,
  TaskView,
} from "../fault-suite/reconciler/history.ts";

export function fault(from: number, to: number, more: Partial<FaultWindow> = {}): FaultWindow {
  return {
    kind: "kill",
    target: "server",
    from,
    to,
    unreadable: [],
    breaksLogFile: false,
    sparesRunners: false,
    ...more,
  };
}

/** One publish each, acknowledged 10 ms after it was sent. */
export function message(number: number, at: number, more: Partial<PublishedMessage> = {}): PublishedMessage {
  return { number, targetType: "user", target: "ann", key: null, attempts: [attempt(at)], ...more };
}

export function attempt(at: number, more: Partial<PublishAttempt> = {}): PublishAttempt {
  return { gateway: "one", sentAt: at, endedAt: at + 10, status: 200, id: `id-${at}`, ...more };
}

export function client(events: ClientEvent[], more: Partial<ClientHistory> = {}): ClientHistory {
  return {
    name: "client",
    protocol: "slipway.v1",
    userId: "ann",
    channels: [],
    isTemporary: false,
    receivedBefore: new Set(),
    events,
    ...more,
  };
}

/** A resume with a position that the client got with message `number`, which arrived 5 ms after it was sent. */
export const opened = (at: number, recovered = false, number: number | null = null): ClientEvent => ({
  type: "open",
  at,
  gateway: "one",
  recovered,
  resumedFrom: number === null ? null : { at: number * 100 + 5, number },
});
export const closed = (at: number): ClientEvent => ({ type: "close", at, code: 1006 });
export const received = (number: number, at: number, isRepeatedId = false): ClientEvent => ({
  type: "message",
  at,
  number,
  id: `m${number}`,
  isRepeatedId,
});

const project = {
  id: 1,
  name: "shop",
  debounceMs: 2_000,
  debounceScope: "project" as const,
  release: null,
};

export function delivery(at: number, taskId: number | null, more: Partial<Delivery> = {}): Delivery {
  return {
    projectId: 1,
    ref: "refs/heads/main",
    commit: `commit-${taskId}`,
    sentAt: at,
    endedAt: at + 10,
    status: 202,
    code: "accepted",
    deliveryId: at,
    taskId,
    isRecorded: true,
    ...more,
  };
}

export function task(id: number, more: Partial<TaskView> = {}): TaskView {
  return {
    id,
    projectId: 1,
    state: "success",
    reason: "",
    commit: `commit-${id}`,
    isBroken: false,
    attempt: 1,
    createdAt: 0,
    finishedAt: 100,
    ...more,
  };
}

export function line(event: ScriptLine["event"], taskId: number, more: Partial<ScriptLine> = {}): ScriptLine {
  const run = { projectId: 1, taskId, attempt: 1, stage: "deploy", commit: `commit-${taskId}` };
  return { event, ...run, isRollback: false, ...more };
}

export const ran = (taskId: number) => [line("start", taskId), line("beat", taskId), line("end", taskId)];
export const told = (taskId: number, type = "task.succeeded", webhookId = `msg-${taskId}`) => ({
  webhookId,
  type,
  taskId,
});
export const printed = (taskId: number) => ({
  taskId,
  lines: ["build", "deploy"].map((stage, index) => ({ index, text: `line 1 of 1 of ${stage} in attempt 1` })),
});

export const presenceEvent = (id: string, type: PresenceEvent["type"]): PresenceEvent => ({
  id,
  userId: "ann",
  type,
  node: "one",
  ts: 0,
});

/** A round in which everything went well. */
export const good: Partial<History> = {
  messages: [message(1, 100), message(2, 200), message(3, 300)],
  clients: [client([opened(0), received(1, 105), received(2, 205), received(3, 305)])],
  presence: [{ instance: "one", online: ["ann"], expected: ["ann"] }],
  presenceEvents: [presenceEvent("e1", "online")],
  projects: [project],
  deliveries: [delivery(0, 1), delivery(5_000, 2)],
  tasks: [task(1), task(2)],
  scriptLines: [...ran(1), ...ran(2)],
  logs: [printed(1), printed(2)],
  notifications: [told(1), told(2)],
};

/** Project 2 replaces a service: task 11 started, task 12 did not and was rolled back, task 13 serves. */
export function releases(
  change: {
    rules?: Partial<ReleaseRules>;
    service?: Partial<ServiceView>;
    tasks?: TaskView[];
    lines?: ScriptLine[];
  } = {},
): Partial<History> {
  const rules: ReleaseRules = { port: "fixed", needsApproval: false, ...change.rules };
  const tasks = change.tasks ?? releaseTasks();
  return {
    ...good,
    projects: [project, { ...project, id: 2, name: "service", release: rules }],
    tasks: [...(good.tasks ?? []), ...tasks],
    scriptLines: [...(good.scriptLines ?? []), ...(change.lines ?? releaseLines())],
    notifications: [
      ...(good.notifications ?? []),
      ...tasks.map(({ id, state }) => told(id, state === "success" ? "task.succeeded" : `task.${state}`)),
    ],
    services: [
      {
        projectId: 2,
        served: "commit-13",
        live: "commit-13",
        liveNote: "",
        running: 1,
        moments: [],
        ...change.service,
      },
    ],
  };
}

const ofRelease = { projectId: 2, stage: "deploy" };

export function releaseTasks(broken: Partial<TaskView> = {}): TaskView[] {
  const failed = { isBroken: true, state: "failed", reason: "commit- failed; commit- is serving again." };
  return [
    task(11, { projectId: 2 }),
    task(12, { projectId: 2, ...failed, ...broken }),
    task(13, { projectId: 2 }),
  ];
}

export const served = (taskId: number) => line("serving", taskId, { ...ofRelease, stage: "service" });
export const released = (taskId: number) => [
  line("start", taskId, ofRelease),
  line("end", taskId, ofRelease),
  served(taskId),
];
export const releaseLines = () => [
  ...released(11),
  line("start", 12, ofRelease),
  line("end", 12, ofRelease),
  served(11),
  ...released(13),
];

/** A look at the service each second: what is served, and what is shown. */
export const moments = (...looks: [boolean, string | null][]): ServiceMoment[] =>
  looks.map(([isServed, shown], second) => ({ at: second * 1_000, isOwed: true, isServed, shown }));
