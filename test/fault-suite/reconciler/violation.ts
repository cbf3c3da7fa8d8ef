/** The promises that the reconciler checks; each name is one kind of violation. */
export const promises = {
  lost: "an acknowledged message reaches every connection that its target covers",
  "recovered-across-a-gap": "`recovered: true` means that nothing is missing",
  "not-resumed": "a client whose position is within the limits is answered `recovered: true`",
  duplicate: "a message reaches a client once",
  reordered: "messages to one target arrive in the order in which they were published",
  stray: "a message reaches only the connections that its target covers",
  "publish-answer": "a publish is answered 200 or 503, and in time",
  idempotency: "a repeat with the same Idempotency-Key answers the same id, on every instance",
  "presence-diverges": "all instances agree on the users that are online",
  "presence-event-repeated":
    "online and offline events of a user alternate, and a repeat has the id of its event",
  "presence-event-lost": "the last event of a user says whether the user is online",
  "delivery-lost": "an accepted delivery has a record and a task",
  "delivery-answer": "without a fault every signed delivery is taken",
  "two-tasks-for-one-window": "deliveries inside one debounce window make one task",
  "wrong-commit": "a task builds the last commit that was merged into it",
  "task-never-ends": "every task ends",
  "task-failed": "a task whose scripts succeed fails only because of a fault",
  "deploy-ran-twice": "the deploy stage of a task runs at most once",
  "two-tasks-at-once": "one task of a project runs at a time",
  "untrue-success": "a task that succeeded ran its deploy to the end",
  "live-untrue": "`liveTaskId` names the commit that the port serves",
  "second-copy": "a service never runs twice, counted by a lock that it takes",
  "not-serving":
    "what should serve serves 10 s after a fault, and without a fault it is never away for longer",
  "needs-server": "when everything was killed, services are up again without the server",
  "state-untrue":
    "the state that the API shows is wrong for at most 10 s where the runner lives, 30 s where it does not",
  "action-failed": "start, stop and restart succeed",
  "rollback-missing": "a release that does not start is replaced by the previous one",
  "rollback-deployed": "a rollback to a release with services runs no deploy step",
  "unapproved-deploy": "a task that needs an approval deploys only after it",
  "push-missed": "a push that no delivery reported is found by a poll",
  "log-gap": "log lines are numbered from 0 without gaps and hold all that the script printed",
  "live-log-differs": "live log lines are the stored ones",
  "notification-lost": "the end of every task is sent to the receiver",
  "notification-repeated": "a repeated notification carries the same webhook-id",
  "ready-but-unusable": "`/readyz` 200 means usable",
  "not-recovered": "after a fault every part is ready again by itself",
  "second-instance": "a second server on the same port refuses to start",
} as const;

export type PromiseName = keyof typeof promises;

/** May still be resolved: until the limit of settling these are not violations. */
const pending: readonly PromiseName[] = [
  "lost",
  "recovered-across-a-gap",
  "presence-diverges",
  "presence-event-lost",
  "delivery-lost",
  "task-never-ends",
  "untrue-success",
  "live-untrue",
  "push-missed",
  "log-gap",
  "live-log-differs",
  "notification-lost",
];

export function isFinal({ promise }: Violation): boolean {
  return !pending.includes(promise);
}

export interface Violation {
  promise: PromiseName;
  text: string;
}

export function violation(promise: PromiseName, text: string): Violation {
  return { promise, text };
}
