import { describe, expect, test } from "bun:test";
import { emptyHistory, type History } from "../fault-suite/reconciler/history.ts";
import { reconcile } from "../fault-suite/reconciler/reconcile.ts";
import { type PromiseName, promises } from "../fault-suite/reconciler/violation.ts";
import { delivery, fault, good, line, printed, ran, releases, task, told } from "../support/fault-history.ts";
import { allowedPush, badPush } from "../support/fault-push-histories.ts";
import { allowedReleases, badReleases } from "../support/fault-release-histories.ts";

const aFault = [fault(0, 100_000)];

function found(history: Partial<History>): PromiseName[] {
  return [...new Set(reconcile({ ...emptyHistory(), ...good, ...history }).map(({ promise }) => promise))];
}

/** For each kind of violation, histories that violate only that promise. */
const bad: Record<string, [PromiseName, Partial<History>][]> = {
  ...badPush,
  deliveries: [
    ["delivery-lost", { deliveries: [delivery(0, 1, { isRecorded: false }), delivery(5_000, 2)] }],
    ["delivery-lost", { deliveries: [delivery(0, 1), delivery(5_000, 9)] }],
    ["delivery-answer", { deliveries: [delivery(0, null, { status: 500 })] }],
    ["delivery-answer", { deliveries: [delivery(0, null, { status: 0 })] }],
    ["two-tasks-for-one-window", { deliveries: [delivery(0, 1), delivery(1_500, 2)] }],
    [
      "wrong-commit",
      {
        deliveries: [delivery(0, 1), delivery(500, 1, { status: 200, commit: "newer" }), delivery(5_000, 2)],
      },
    ],
  ],
  tasks: [
    ["task-never-ends", { tasks: [task(1, { state: "queued" }), task(2)] }],
    [
      "task-failed",
      { tasks: [task(1, { state: "failed" }), task(2)], notifications: [told(1, "task.failed"), told(2)] },
    ],
    [
      "task-failed",
      {
        faults: aFault,
        tasks: [task(1, { state: "timeout" }), task(2)],
        notifications: [told(1, "task.timeout"), told(2)],
      },
    ],
    [
      "deploy-ran-twice",
      {
        scriptLines: [...ran(1), line("start", 1, { attempt: 2 }), line("end", 1, { attempt: 2 }), ...ran(2)],
      },
    ],
    ["deploy-ran-twice", { scriptLines: [line("start", 0), ...ran(1), ...ran(2)] }],
    [
      "two-tasks-at-once",
      { scriptLines: [line("start", 1), line("start", 2), line("beat", 1), line("end", 1), line("end", 2)] },
    ],
    [
      "two-tasks-at-once",
      {
        scriptLines: [
          line("start", 1, { stage: "build" }),
          line("start", 1, { stage: "build", attempt: 2 }),
          line("beat", 1, { stage: "build" }),
          line("start", 1, { attempt: 2 }),
          line("end", 1, { attempt: 2 }),
          ...ran(2),
        ],
      },
    ],
    ["untrue-success", { scriptLines: [line("start", 1), ...ran(2)] }],
    ["untrue-success", { scriptLines: [line("start", 1), line("end", 1, { commit: "older" }), ...ran(2)] }],
  ],
  ...badReleases,
  logs: [
    ["log-gap", { logs: [{ taskId: 1, lines: [...printed(1).lines, { index: 3, text: "done" }] }] }],
    ["log-gap", { logs: [{ taskId: 1, lines: printed(1).lines.slice(0, 1) }] }],
    ["log-gap", { logs: [{ taskId: 1, lines: [] }] }],
    ["live-log-differs", { liveLines: [{ taskId: 1, index: 0, text: "another line" }] }],
    ["live-log-differs", { liveLines: [{ taskId: 1, index: 9, text: "a line that was never stored" }] }],
  ],
  notifications: [
    ["notification-lost", { notifications: [told(1)] }],
    ["notification-lost", { owedTasks: [task(3)] }],
    ["notification-lost", { notifications: [], waitingNotifications: 1 }],
    ["notification-repeated", { notifications: [told(1), told(1, "task.succeeded", "other"), told(2)] }],
  ],
};

describe("the reconciler", () => {
  test("finds no violation in a good history", () => {
    expect(found({})).toEqual([]);
    expect(found(releases())).toEqual([]);
  });

  for (const [area, cases] of Object.entries(bad))
    describe(area, () => {
      test.each(cases)("%s (%#)", (promise, history) => expect(found(history)).toEqual([promise]));
    });

  test("has a bad history for every promise that a history can violate", () => {
    const tried = new Set(Object.values(bad).flatMap((cases) => cases.map(([promise]) => promise)));
    // Found while a fault is injected, not in a history.
    const found = ["ready-but-unusable", "not-recovered", "second-instance", "needs-server", "action-failed"];
    expect([...tried, ...found].sort()).toEqual(Object.keys(promises).sort());
  });
});

/** Histories that look wrong and are allowed. */
const allowed: [string, Partial<History>][] = [
  [
    "the deploy of an earlier task once more, as the rollback of a task that failed",
    {
      scriptLines: [
        ...ran(1),
        line("start", 2),
        line("start", 1, { isRollback: true }),
        line("end", 1, { isRollback: true }),
        line("end", 2),
      ],
    },
  ],
  [
    "a delivery fails during a fault",
    { faults: aFault, deliveries: [delivery(0, null, { status: 500, deliveryId: null })] },
  ],
  [
    "two tasks in one window when the first was canceled",
    {
      faults: aFault,
      deliveries: [delivery(0, 1), delivery(1_500, 2)],
      tasks: [task(1, { state: "canceled" }), task(2)],
      notifications: [told(1, "task.canceled"), told(2)],
    },
  ],
  [
    "a task builds the commit of a later delivery that had no answer",
    {
      faults: aFault,
      deliveries: [delivery(0, 1), delivery(500, null, { status: 0, commit: "newer", deliveryId: null })],
      tasks: [task(1, { commit: "newer" }), task(2)],
      scriptLines: [line("start", 1, { commit: "newer" }), line("end", 1, { commit: "newer" }), ...ran(2)],
    },
  ],
  [
    "a build that begins again after its first attempt was ended",
    {
      scriptLines: [
        line("start", 1, { stage: "build" }),
        line("start", 1, { stage: "build", attempt: 2 }),
        line("start", 1, { attempt: 2 }),
        line("end", 1, { attempt: 2 }),
        ...ran(2),
      ],
    },
  ],
  ...allowedPush,
  ...allowedReleases,
  ["a notification that waits for its next try", { notifications: [told(1)], waitingNotifications: 1 }],
];

describe("the reconciler allows", () => {
  test.each(allowed)("%s", (_what, history) => expect(found(history)).toEqual([]));
});
