/** The sample project of the first minute. */
export const tryIt = {
  noProjects: "No project is shared with you yet",
  noProjectsHint: "Ask an admin to add you to a project or a group. It then appears here.",
  title: "Watch a deploy within a minute",
  about:
    "“Try the sample” creates a sample project with a small repository in the data folder and sends its webhook a signed push, as a Git host does. You watch the build and the deploy live. Deleting the project removes everything.",
  start: "Try the sample",
  failed: "Couldn't create the sample project",
  onlyPush: "I only want push",
  onlyPushAbout:
    "Messages to browsers and apps need no project. The push pages show how to connect and publish with this server's address.",
  openPush: "Open the push pages",
  next: "What to try next",
  why: "See why it deployed",
  whyHint: "The delivery shows each rule that the push passed.",
  whySubmit: "Open the delivery",
  break: "Break it and watch the rollback",
  breakHint:
    "A push without the heading of the page fails the health check, and the release before it comes back.",
  breakSubmit: "Push a broken commit",
  fix: "Fix it and deploy again",
  fixHint:
    "The health check found no heading, and the earlier release serves. A push with the heading passes.",
  fixSubmit: "Push a fixed commit",
  fixed: "Broken, rolled back and fixed",
  fixedHint: "The list of tasks shows both: the push that failed and the push that serves now.",
  breakFailed: "Couldn't push to the sample project",
  own: "Deploy a repository of yours",
  ownHint:
    "Enter its address; the stages are suggested. Delete the sample in its settings when you no longer need it.",
  addOwn: "Add your own project",
} as const;
