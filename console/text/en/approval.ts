/** Approve or reject a deploy. */
export const approval = {
  approve: "Approve",
  approveTitle: "Deploy {commit}?",
  approveConfirm: "Approve the deploy",
  approveText:
    "The built files are deployed with the scripts, the environment and the image that the project had when they were built. Later changes of the project do not apply.",
  approved: "Task {id} is approved.",
  comment: "Comment (optional)",
  notByPusher: "The person who pushed or started this task may not approve it.",
  reason: "Reason (shown with the task)",
  reject: "Reject",
  rejectTitle: "Reject task {id}?",
  rejectConfirm: "Reject the deploy",
  rejectText: "The task is canceled. Nothing is deployed.",
  rejected: "Task {id} is rejected.",
  waiting: { one: "A deploy waits for an approval:", other: "{count} deploys wait for an approval:" },
  waitingTask: "{project} task {id}",
  waitingLabel: "Deploys that wait for an approval",
  requested: "Task {id} of {project} waits for your approval.",
} as const;
