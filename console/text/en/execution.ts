/** Settings of where and how scripts run. */
export const execution = {
  about:
    "With an image, scripts run in a container on a runner that has podman or docker. The workspace and the cache folders are mounted. The container ends with its script.",
  notSaved: "Couldn't save the execution settings",
  image: "Container image",
  imageHint: "For all steps. Empty: no container, unless a step has an image.",
  imageOf: "Image of {stage}",
  imageOfProject: "image of the project",
  offline: "without network",
  offlineOf: "{stage} without network",
  isolation: "Run on",
  isolationHint: "Tasks wait while no such runner is available.",
  isolationNone: "a runner of any isolation",
  isolationSandbox: "a runner whose scripts run in sandboxes or in containers",
  isolationContainer: "a runner that runs every script in a container",
  cache: "Cache folders",
  cacheHint:
    "Folders of the workspace or of the home folder that are kept for the next task, such as ~/.npm. Press Enter after each.",
  memory: "Memory",
  cpus: "Processors (containers only)",
  processes: "Processes",
  disk: "Disk of releases and data",
  nice: "Niceness (0 to 19)",
  noLimit: "no limit",
} as const;
