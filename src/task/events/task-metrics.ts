import { Counter, Gauge, Histogram } from "prom-client";
import type { Metrics } from "../../metrics.ts";
import { unknownAfterMs } from "../../model/service/running-service.ts";
import { serviceStates } from "../../model/service/service.ts";
import type { Store } from "../../model/store.ts";
import { isFinished, type Task, taskStates, unfinishedStates, workedMs } from "../../model/task.ts";

const seconds = [0.1, 0.3, 1, 3, 10, 30, 60, 300, 900, 3600];

export function buildTaskMetrics(
  registry: Metrics,
  { tasks, outgoingCalls, services, now }: Pick<Store, "tasks" | "outgoingCalls" | "services" | "now">,
) {
  const registers = [registry];
  new Gauge({
    name: "slipway_tasks",
    help: "Tasks that have not ended, by state; `queued` is the depth of the queue, `waiting` tasks need an approval.",
    labelNames: ["state"],
    registers,
    async collect() {
      const counts = await tasks.countByState();
      for (const state of [...unfinishedStates, "waiting"] as const) this.set({ state }, counts[state]);
    },
  });
  new Gauge({
    name: "slipway_services",
    help: "Services by state; `unknown`: their runner is away.",
    labelNames: ["state"],
    registers,
    async collect() {
      const counts = await services.countByState(new Date(now().getTime() - unknownAfterMs));
      for (const state of serviceStates) this.set({ state }, counts[state] ?? 0);
    },
  });
  const wait = new Histogram({
    name: "slipway_task_wait_seconds",
    help: "From the time a task may run to its start.",
    buckets: seconds,
    registers,
  });
  const duration = new Histogram({
    name: "slipway_task_duration_seconds",
    help: "From the start of a task to its end, by result, without the wait for an approval.",
    labelNames: ["result"],
    buckets: seconds,
    registers,
  });
  const step = new Histogram({
    name: "slipway_task_step_seconds",
    help: "From the start of a step to its end, by stage and result.",
    labelNames: ["stage", "result"],
    buckets: seconds,
    registers,
  });
  // From 0 on, because a counter that appears with 1 has not increased for Prometheus.
  for (const result of taskStates.filter(isFinished)) duration.zero({ result });
  const lost = new Counter({
    name: "slipway_task_leases_lost_total",
    help: "Leases that ended because their runner was silent.",
    registers,
  });
  const cleaned = new Counter({
    name: "slipway_tasks_cleaned_total",
    help: "Finished tasks deleted by retention.",
    registers,
  });
  new Gauge({
    name: "slipway_outgoing_calls_waiting",
    help: "Notifications and commit statuses that are not taken yet, of all instances.",
    registers,
    async collect() {
      this.set(await outgoingCalls.count());
    },
  });
  const outgoing = new Counter({
    name: "slipway_outgoing_calls_total",
    help: "Notifications and commit statuses by their result.",
    labelNames: ["kind", "result"],
    registers,
  });
  for (const kind of ["notification", "commit status"])
    for (const result of ["delivered", "failed"]) outgoing.inc({ kind, result }, 0);
  return {
    started(task: Task): void {
      const mayRunAt = Math.max(task.createdAt.getTime(), task.notBefore?.getTime() ?? 0);
      if (task.startedAt) wait.observe(Math.max(0, task.startedAt.getTime() - mayRunAt) / 1000);
    },
    finished(task: Task): void {
      const ms = workedMs(task);
      if (ms !== null) duration.observe({ result: task.state }, ms / 1000);
      for (const stage of task.stages)
        for (const { state: result, startedAt, finishedAt } of stage.steps)
          if (startedAt !== null && finishedAt !== null)
            step.observe({ stage: stage.name, result }, (finishedAt.getTime() - startedAt.getTime()) / 1000);
    },
    leaseLost: () => lost.inc(),
    /** Tasks that retention deleted. */
    cleaned: (count: number) => cleaned.inc(count),
    outgoing: (kind: string, result: "delivered" | "failed") => outgoing.inc({ kind, result }),
  };
}
export type TaskMetrics = ReturnType<typeof buildTaskMetrics>;
