/** A pipeline that is in a file of the repository. */
export const pipelineFile = {
  from: "Where the pipeline is",
  fromProject: "in these settings",
  fromRepository: "from the repository",
  path: "File",
  pathHint:
    "Each task reads it from its commit. `slipway pipeline export` prints the present pipeline as such a file.",
  notRead: "No deploy has read the file yet.",
  read: "{path} of commit {commit} was read last.",
  task: "Task {task}",
  runs: "{stage}: {names}",
  nothing: "nothing",
} as const;
