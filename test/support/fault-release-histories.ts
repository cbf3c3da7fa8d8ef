import type { History } from "../fault-suite/reconciler/history.ts";
import type { PromiseName } from "../fault-suite/reconciler/violation.ts";
import {
  fault,
  line,
  moments,
  ran,
  released,
  releaseLines,
  releases,
  releaseTasks,
  task,
} from "./fault-history.ts";

const aFault = [fault(0, 100_000)];
type Look = [boolean, string | null];
const serving: Look = [true, "serving"];
const away: Look = [false, "restarting"];
const repeat = (count: number, look: Look) => Array.from({ length: count }, () => look);

/** Histories of releases and polls that violate one promise each. */
export const badReleases: Record<string, [PromiseName, Partial<History>][]> = {
  releases: [
    ["live-untrue", releases({ service: { served: "commit-11" } })],
    ["live-untrue", releases({ service: { served: null } })],
    ["live-untrue", releases({ service: { live: null } })],
    ["live-untrue", releases({ service: { running: 2 } })],
    ["rollback-missing", releases({ tasks: releaseTasks({ reason: "exit code 3" }) })],
    [
      "rollback-deployed",
      releases({
        lines: [...releaseLines(), ...released(11).map((each) => ({ ...each, isRollback: true }))],
      }),
    ],
    ["unapproved-deploy", releases({ rules: { needsApproval: true } })],
    ["untrue-success", releases({ tasks: releaseTasks({ state: "success" }) })],
    ["untrue-success", releases({ lines: releaseLines().slice(0, -1) })],
    ["deploy-ran-twice", releases({ lines: [...releaseLines(), ...released(13)] })],
    ["task-failed", releases({ tasks: [...releaseTasks(), task(14, { projectId: 2, state: "failed" })] })],
    [
      "task-never-ends",
      releases({ tasks: [...releaseTasks(), task(14, { projectId: 2, state: "waiting" })] }),
    ],
  ],
  services: [
    [
      "second-copy",
      releases({ lines: [...releaseLines(), line("second-copy", 13, { projectId: 2, stage: "service" })] }),
    ],
    ["not-serving", releases({ service: { moments: moments(serving, ...repeat(12, away)) } })],
    ["state-untrue", releases({ service: { moments: moments(serving, ...repeat(12, [true, "starting"])) } })],
    [
      "state-untrue",
      {
        ...releases({ service: { moments: moments(serving, ...repeat(12, [false, "serving"])) } }),
        faults: [fault(0, 100_000, { sparesRunners: true })],
      },
    ],
    [
      "state-untrue",
      {
        ...releases({ service: { moments: moments(serving, ...repeat(32, [false, "serving"])) } }),
        faults: aFault,
      },
    ],
  ],
  polls: [
    ["push-missed", { tips: [{ projectId: 1, ref: "refs/heads/main", commit: "never-seen" }] }],
    [
      "push-missed",
      {
        tips: [{ projectId: 1, ref: "refs/heads/main", commit: "refused" }],
        records: [{ projectId: 1, commit: "refused", taskId: null, isPoll: false }],
      },
    ],
    [
      "wrong-commit",
      {
        tasks: [task(1, { commit: "polled" }), task(2)],
        scriptLines: [line("end", 1, { commit: "polled" }), ...ran(2)],
        records: [{ projectId: 1, commit: "polled", taskId: 2, isPoll: true }],
      },
    ],
  ],
};

/** Histories of releases and polls that look wrong and are allowed. */
export const allowedReleases: [string, Partial<History>][] = [
  [
    "a task builds the commit of a poll that was merged into it",
    {
      tasks: [task(1, { commit: "polled" }), task(2)],
      scriptLines: [line("end", 1, { commit: "polled" }), ...ran(2)],
      records: [{ projectId: 1, commit: "polled", taskId: 1, isPoll: true }],
      tips: [{ projectId: 1, ref: "refs/heads/main", commit: "polled" }],
    },
  ],
  [
    "a service that is away and shown so during a fault, and a state that is wrong while its runner is away",
    {
      ...releases({
        service: {
          moments: moments(serving, ...repeat(20, away), serving, ...repeat(20, [false, "serving"]), serving),
        },
      }),
      faults: aFault,
    },
  ],
  [
    "a page that nobody shows while nothing serves during a fault",
    {
      ...releases({ service: { moments: moments(serving, ...repeat(40, [false, null])) } }),
      faults: [fault(0, 100_000, { sparesRunners: true })],
    },
  ],
  [
    "no live task after a start that was lost",
    {
      ...releases({
        service: { live: null, served: null, running: 0 },
        tasks: [...releaseTasks(), task(14, { projectId: 2, state: "lost" })],
      }),
      faults: aFault,
    },
  ],
  [
    "a task that waits lets a later one start, and is canceled by it",
    releases({
      rules: { needsApproval: true },
      tasks: [
        task(11, { projectId: 2, state: "canceled", reason: "superseded by task 13" }),
        task(13, { projectId: 2 }),
      ],
      lines: [
        line("start", 11, { projectId: 2, stage: "build" }),
        line("start", 13, { projectId: 2, stage: "build" }),
        line("end", 11, { projectId: 2, stage: "build" }),
        line("approved", 13, { projectId: 2, stage: "approval" }),
        ...released(13),
      ],
    }),
  ],
];
