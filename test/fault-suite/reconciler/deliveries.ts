import type { Delivery, DeployProject, History, TaskView } from "./history.ts";
import { isDuringFault } from "./publishes.ts";
import { type Violation, violation } from "./violation.ts";

export function checkDeliveries(history: History): Violation[] {
  const { deliveries, projects, tasks, faults } = history;
  const taskById = new Map(tasks.map((task) => [task.id, task]));
  return [
    ...deliveries.flatMap((delivery) => {
      const found: Violation[] = [];
      const isTaken = delivery.status === 200 || delivery.status === 202;
      if (!isTaken && !isDuringFault(faults, delivery.sentAt, delivery.endedAt))
        found.push(
          violation(
            "delivery-answer",
            `${nameOf(delivery)} was answered ${delivery.status} ${delivery.code} without a fault`,
          ),
        );
      if (!isTaken) return found;
      if (!delivery.isRecorded) found.push(violation("delivery-lost", `${nameOf(delivery)} left no record`));
      if (delivery.taskId === null || !taskById.has(delivery.taskId))
        found.push(
          violation(
            "delivery-lost",
            `${nameOf(delivery)} names task ${delivery.taskId}, which does not exist`,
          ),
        );
      return found;
    }),
    ...projects.flatMap((project) => checkWindows(project, deliveries, taskById)),
    ...checkCommits(history, taskById),
    ...checkTips(history),
  ];
}

/** From before the first delivery to after the second, so that the real gap is certainly shorter. */
function checkWindows(
  project: DeployProject,
  deliveries: Delivery[],
  taskById: Map<number, TaskView>,
): Violation[] {
  const found: Violation[] = [];
  const opened = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    if (delivery.projectId !== project.id || delivery.status !== 202) continue;
    const scope = project.debounceScope === "ref" ? delivery.ref : "";
    const before = opened.get(scope);
    opened.set(scope, delivery);
    if (!before || before.taskId === delivery.taskId) continue;
    const isCanceled = taskById.get(before.taskId ?? 0)?.state === "canceled";
    const apartMs = delivery.endedAt - before.sentAt;
    if (apartMs < project.debounceMs && !isCanceled)
      found.push(
        violation(
          "two-tasks-for-one-window",
          `tasks ${before.taskId} and ${delivery.taskId} of project ${project.name} within ${Math.round(apartMs)} ms, the window is ${project.debounceMs} ms`,
        ),
      );
  }
  return found;
}

/** Servers poll, so the last push of each branch has a task, whether or not its delivery arrived or was refused. */
function checkTips({ tips, records, deliveries, tasks }: History): Violation[] {
  const known = new Set(
    [
      ...records.filter(({ taskId }) => taskId !== null),
      ...tasks,
      ...deliveries.filter(({ status, isRecorded }) => isRecorded && (status === 200 || status === 202)),
    ].map(({ projectId, commit }) => `${projectId} ${commit}`),
  );
  return tips
    .filter(({ projectId, commit }) => !known.has(`${projectId} ${commit}`))
    .map(({ projectId, ref, commit }) =>
      violation("push-missed", `${commit.slice(0, 10)} on ${ref} of project ${projectId} has no delivery`),
    );
}

/** A delivery without a response, or of a poll, may also have been the last one. */
function checkCommits({ deliveries, records }: History, taskById: Map<number, TaskView>): Violation[] {
  const byTask = Map.groupBy(
    deliveries.filter(({ taskId, status }) => taskId !== null && (status === 200 || status === 202)),
    ({ taskId }) => taskId ?? 0,
  );
  return [...byTask].flatMap(([taskId, merged]) => {
    const task = taskById.get(taskId);
    const last = merged.at(-1);
    if (!task || !last || task.commit === last.commit) return [];
    const unanswered = deliveries.filter(
      ({ projectId, status, sentAt }) => projectId === last.projectId && status === 0 && sentAt > last.sentAt,
    );
    if (unanswered.some(({ commit }) => commit === task.commit)) return [];
    const polled = records.filter((record) => record.isPoll && record.taskId === taskId);
    if (polled.some(({ commit }) => commit === task.commit)) return [];
    return [
      violation(
        "wrong-commit",
        `task ${taskId} has commit ${task.commit}, the last delivery was ${last.commit}`,
      ),
    ];
  });
}

function nameOf({ projectId, commit, deliveryId }: Delivery): string {
  return `delivery ${deliveryId ?? "?"} of ${commit.slice(0, 10)} to project ${projectId}`;
}
