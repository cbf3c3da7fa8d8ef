/** States of tasks, stages and deliveries. */
export const state = {
  queued: "queued",
  dispatched: "dispatched",
  running: "running",
  canceling: "canceling",
  waiting: "waiting",
  success: "success",
  failed: "failed",
  canceled: "canceled",
  timeout: "timed out",
  lost: "lost",
  pending: "pending",
  skipped: "skipped",
  accepted: "accepted",
  merged: "merged",
  ignored: "ignored",
  rejected: "rejected",
} as const;
