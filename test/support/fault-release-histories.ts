import type { History } from "../fault-suite/reconciler/history.ts";
import type { PromiseName } from "../fault-suite/reconciler/violation.ts";
import {
  fault,
  line,
  ran,
  releaseLines,
  releases,
  releaseTasks,
  rolledBack,
  started,
  task,
} from "./fault-history.ts";

const aFault = [fault(0, 100_000)];

/** Histories of releases and polls that violate one promise each. */
export const badReleases: Record<string, [PromiseName, Partial<History>][]> = {
  releases: [
    ["live-untrue", releases({ service: { served: "commit-11" } })],
    ["live-untrue", releases({ service: { served: null } })],
    ["live-untrue", releases({ service: { live: null } })],
    ["live-untrue", releases({ service: { running: 2 } })],
    ["two-services", releases({ service: { overlaps: ["processes 1 and 2"] } })],
    ["rollback-missing", releases({ tasks: releaseTasks({ reason: "exit code 3" }) })],
    [
      "rollback-repeated",
      releases({
        lines: [
          ...started(11),
          line("start", 12, { projectId: 2, stage: "start" }),
          ...rolledBack(11),
          ...rolledBack(11),
          ...started(13),
        ],
      }),
    ],
    ["unapproved-deploy", releases({ rules: { needsApproval: true } })],
    ["untrue-success", releases({ tasks: releaseTasks({ state: "success" }) })],
    ["untrue-success", releases({ lines: releaseLines().slice(0, -1) })],
    ["deploy-ran-twice", releases({ lines: [...releaseLines(), ...started(13)] })],
    ["task-failed", releases({ tasks: [...releaseTasks(), task(14, { projectId: 2, state: "failed" })] })],
    [
      "task-never-ends",
      releases({ tasks: [...releaseTasks(), task(14, { projectId: 2, state: "waiting" })] }),
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
    "two services at once while the switch is under way",
    releases({ rules: { previous: "stop-after-healthy" }, service: { overlaps: ["processes 1 and 2"] } }),
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
        ...started(13),
      ],
    }),
  ],
];
