import type { DeliverySummary, Followed } from "../../model/delivery.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import type { Runner } from "../../model/runner.ts";
import type { RunningService } from "../../model/service/running-service.ts";
import type { NotifyEvent, TaskEvent } from "../../model/settings/notify-target.ts";
import { type LogLine, type Task, workedMs } from "../../model/task.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import { taskJson } from "../view/task-json.ts";
import type { ChatMessage } from "./chat-formats.ts";
import { oneLine } from "./chat-text.ts";
import { releaseMessage } from "./release-message.ts";

/** An event for all formats: the data of Slipway's own format, and the message of the others. */
export interface Notice {
  event: NotifyEvent | "test";
  /** Path of the console's page. */
  page: string;
  data: Record<string, unknown>;
  title: string;
  tone: ChatMessage["tone"];
  facts: ChatMessage["facts"];
  /** The end of the log or the output; each target uses the number of lines that it is configured for. */
  log: Pick<LogLine, "text">[];
  /** What targets of the format `push` publish; absent: nothing. */
  pushed?: object | null;
}

/** The task whose commit is serving. */
export type LiveTask = Pick<Task, "id" | "commit">;

type TaskNews = TaskEvent | "approval.requested";

const words: Record<TaskNews, { said: string; tone: ChatMessage["tone"] }> = {
  "task.queued": { said: "is queued", tone: "neutral" },
  "task.started": { said: "started", tone: "neutral" },
  "task.succeeded": { said: "succeeded", tone: "good" },
  "task.failed": { said: "failed", tone: "bad" },
  "task.canceled": { said: "was canceled", tone: "neutral" },
  "task.timeout": { said: "timed out", tone: "bad" },
  "task.lost": { said: "lost its runner", tone: "bad" },
  "approval.requested": { said: "waits for approval", tone: "neutral" },
};

const maxFact = 200;
const maxName = 100;

export function taskNotice(
  event: TaskNews,
  task: Task,
  project: Project,
  live: LiveTask | null,
  log: LogLine[],
): Notice {
  const { said, tone } = words[event];
  return {
    event,
    page: `/tasks/${task.id}`,
    data: { project: projectData(project), task: taskJson(task), live },
    title: `Slipway: task ${task.id} ${said}`,
    tone,
    facts: factsOf({
      Project: oneLine(project.name, maxName),
      Ref: oneLine(task.ref.replace(/^refs\/(heads|tags)\//, ""), maxFact),
      Commit:
        task.commit === null
          ? ""
          : oneLine(`${shortCommit(task.commit)} ${firstLine(task.message)}`, maxFact),
      Author: oneLine(task.author || task.triggeredBy, maxName),
      Duration: durationOf(task),
      Reason: oneLine(task.reason, maxFact),
      Serving: servingText(task, live, oneLine(project.liveNote, maxFact)),
    }),
    log,
    pushed: releaseMessage(event, task, project),
  };
}

export function deliveryNotice(
  event: "delivery.rejected" | "delivery.failed",
  delivery: Omit<DeliverySummary, "repeat_of" | Followed>,
  project: Project,
  unreported: number,
): Notice {
  const { id, status, code, reason, provider, ref, commit, author, created_at } = delivery;
  return {
    event,
    page: `/deliveries/${id}`,
    data: {
      project: projectData(project),
      delivery: {
        id,
        status,
        code,
        reason: renderReason(reason),
        provider,
        event: delivery.event,
        ref,
        commit,
        author,
        created_at,
      },
      unreported,
    },
    title: `Slipway: delivery ${id} ${status === "failed" ? "failed" : "was rejected"}`,
    tone: "bad",
    facts: factsOf({
      Project: oneLine(project.name, maxName),
      Code: code,
      Reason: oneLine(reason, maxFact),
      Ref: oneLine(ref, maxFact),
      Commit: oneLine(shortCommit(commit), maxName),
      Author: oneLine(author, maxName),
      "Not reported": unreported > 0 ? `${unreported} similar deliveries before this one` : "",
    }),
    log: [],
  };
}

export function runnerGoneNotice(
  runner: Pick<Runner, "id" | "name" | "lastSeenAt">,
  project: Project,
  waiting: Reason,
): Notice {
  const lastSeenAt = runner.lastSeenAt?.toISOString() ?? null;
  return {
    event: "runner.gone",
    page: `/projects/${project.id}`,
    data: {
      project: projectData(project),
      runner: { id: runner.id, name: runner.name, lastSeenAt },
      waiting,
    },
    title: "Slipway: a runner is gone",
    tone: "bad",
    facts: factsOf({
      Project: oneLine(project.name, maxName),
      Runner: oneLine(runner.name, maxName),
      "Last seen": lastSeenAt ?? "",
      Tasks: waiting === "" ? "another runner takes them" : oneLine(waiting, maxFact),
    }),
    log: [],
  };
}

export function serviceNotice(
  event: "service.down" | "service.up",
  service: RunningService,
  project: Project,
  { commit, message }: Pick<Release, "commit" | "message">,
): Notice {
  const { name, state, since, taskId, restarts, lastExit, fault, lastLines } = service;
  const isDown = event === "service.down";
  const lines = isDown ? lastLines.split("\n").filter((line) => line.trim() !== "") : [];
  return {
    event,
    page: `/projects/${project.id}`,
    data: {
      project: projectData(project),
      service: {
        name,
        state,
        since: since.toISOString(),
        taskId,
        commit,
        restarts,
        lastExit,
        fault,
        lastLines,
      },
    },
    title: isDown ? "Slipway: a service is down" : "Slipway: a service is up again",
    tone: isDown ? "bad" : "good",
    facts: factsOf({
      Project: oneLine(project.name, maxName),
      Service: name,
      Commit: oneLine(`${shortCommit(commit)} ${firstLine(message)}`, maxFact),
      State: isDown ? state : "",
      "Last exit": isDown ? oneLine(lastExit ?? "", maxName) : "",
      Check: isDown ? oneLine(fault, maxFact) : "",
      "Last line": oneLine(lines.at(-1) ?? "", maxFact),
    }),
    log: lines.map((text) => ({ text })),
  };
}

export function testNotice(project: Project | null, username: string): Notice {
  return {
    event: "test",
    page: project === null ? "/" : `/projects/${project.id}`,
    data: project === null ? {} : { project: projectData(project) },
    title: "Slipway: test message",
    tone: "neutral",
    facts: factsOf({ Project: oneLine(project?.name ?? "", maxName), "Sent by": oneLine(username, maxName) }),
    log: [],
    pushed: { type: "test", project: project?.name ?? "" },
  };
}

function projectData({ id, name }: Project) {
  return { id, name };
}

function factsOf(texts: Record<string, string>): ChatMessage["facts"] {
  return Object.entries(texts).flatMap(([label, text]) => (text === "" ? [] : [{ label, text }]));
}

function servingText(task: Task, live: LiveTask | null, note: string): string {
  if (live === null) return note || "nothing yet";
  const commit = live.commit === null ? "an unknown commit" : shortCommit(live.commit);
  return live.id === task.id ? `${commit} (this task)` : `${commit} (task ${live.id})`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function durationOf(task: Task): string {
  const ms = workedMs(task);
  if (ms === null) return "";
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}
