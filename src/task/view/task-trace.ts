import { hasOwnSteps } from "../../model/stage/stage-name.ts";
import type { Task, TaskStage, TaskStep } from "../../model/task.ts";
import { renderReason } from "../../reason/reason.ts";
import type { EndedSpan, SpanAttributes, Telemetry } from "../../telemetry/telemetry.ts";
import {
  derivedContext,
  readTraceparent,
  type TraceContext,
  traceFields,
  traceparentOf,
} from "../../telemetry/trace-context.ts";

type Traced = Pick<Task, "id" | "traceparent">;

/** The task's own span; null: it is not traced. */
function contextOf({ id, traceparent }: Traced): TraceContext | null {
  const asked = readTraceparent(traceparent);
  return asked && derivedContext(asked, `task ${id}`);
}

/** For what belongs to a task: its scripts, messages and calls. Null: it is not traced. */
export function taskTraceparent(task: Traced): string | null {
  const context = contextOf(task);
  return context && traceparentOf(context);
}

/** The fields of a log line about a task. */
export function taskTraceFields(task: Traced): ReturnType<typeof traceFields> {
  return traceFields(taskTraceparent(task));
}

/** Records the first span of a task that a user started; that of other tasks is their delivery. */
export function recordManualStart(telemetry: Telemetry, task: Task, startMs: number): void {
  const context = readTraceparent(task.traceparent);
  if (!context) return;
  const attributes = { "slipway.task.id": task.id, "slipway.project.id": task.projectId };
  telemetry.record({ name: "manual start", kind: "server", attributes, context, startMs, endMs: Date.now() });
}

/** The spans of a task that has ended, from the times that were recorded. */
export function spansOfTask(task: Task): EndedSpan[] {
  const asked = readTraceparent(task.traceparent);
  const context = contextOf(task);
  if (asked === null || context === null || task.finishedAt === null) return [];
  const endMs = task.finishedAt.getTime();
  const startMs = task.createdAt.getTime();
  const own: EndedSpan = {
    name: "task",
    kind: "internal",
    context,
    parentSpanId: asked.spanId,
    startMs,
    endMs,
    attributes: attributesOf(task),
    ...faultOf(task),
  };
  return [own, ...partsOf(task, startMs, endMs).flatMap((part) => spansBelow(context, part))];
}

type Part = Pick<EndedSpan, "name" | "startMs" | "endMs" | "attributes" | "fault"> & { parts?: Part[] };

function spansBelow(parent: TraceContext, { parts = [], ...part }: Part): EndedSpan[] {
  const context = derivedContext(parent, part.name);
  const span: EndedSpan = { kind: "internal", context, parentSpanId: parent.spanId, ...part };
  return [span, ...parts.flatMap((inner) => spansBelow(context, inner))];
}

function partsOf(task: Task, createdMs: number, endMs: number): Part[] {
  const { startedAt, notBefore, approval, stages } = task;
  const startedMs = startedAt?.getTime() ?? endMs;
  const parts: Part[] = [
    {
      name: "queue",
      startMs: createdMs,
      endMs: startedMs,
      attributes: notBefore === null ? {} : { "slipway.task.not_before": notBefore.toISOString() },
    },
  ];
  const ran = stages.filter((stage) => stage.startedAt !== null);
  // The first stage begins when the checkout is done.
  const checkedOutMs = Math.min(endMs, ...ran.map(({ startedAt: at }) => at?.getTime() ?? endMs));
  if (startedAt !== null)
    parts.push({
      name: "checkout",
      startMs: startedMs,
      endMs: checkedOutMs,
      ...(ran.length === 0 ? faultOf(task) : {}),
    });
  if (approval?.requestedAt)
    parts.push({
      name: "approval",
      startMs: Date.parse(approval.requestedAt),
      endMs: approval.at === null ? endMs : Date.parse(approval.at),
      attributes: { "slipway.approval.state": approval.state },
    });
  return [...parts, ...ran.map((stage) => stagePart(stage, endMs))];
}

function stagePart(stage: TaskStage, endMs: number): Part {
  const ran = hasOwnSteps(stage) ? stage.steps.filter(({ startedAt }) => startedAt !== null) : [];
  const parts = ran.map((step) => stepPart(`step ${step.name}`, step, endMs));
  return { ...stepPart(`stage ${stage.name}`, stage, endMs), parts };
}

function stepPart(name: string, { state, startedAt, finishedAt, exitCode }: TaskStep, endMs: number): Part {
  return {
    name,
    startMs: startedAt?.getTime() ?? endMs,
    endMs: finishedAt?.getTime() ?? endMs,
    attributes: {
      "slipway.stage.state": state,
      ...(exitCode === null ? {} : { "process.exit.code": exitCode }),
    },
    ...(hasFailed(state) ? { fault: state } : {}),
  };
}

function attributesOf({ id, projectId, state, ref, commit, attempt, ...task }: Task): SpanAttributes {
  return {
    "slipway.task.id": id,
    "slipway.task.state": state,
    "slipway.task.attempt": attempt,
    "slipway.task.trigger": task.triggerType,
    "slipway.project.id": projectId,
    "vcs.ref.head.name": ref,
    ...(commit === null ? {} : { "vcs.ref.head.revision": commit }),
    ...(task.runnerId === null ? {} : { "slipway.runner.id": task.runnerId }),
    ...(task.rollback === null ? {} : { "slipway.rollback.state": task.rollback.state }),
  };
}

/** A cancel is no failure: a person or a newer push asked for it. */
function hasFailed(state: string): boolean {
  return state === "failed" || state === "timeout" || state === "lost";
}

function faultOf({ state, reason }: Pick<Task, "state" | "reason">): Pick<EndedSpan, "fault"> {
  return hasFailed(state) ? { fault: renderReason(reason) || state } : {};
}
