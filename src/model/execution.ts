/** What keeps scripts from what the runner can read, from weak to strong. */
export const isolationLevels = ["none", "user", "container"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Bounds for each stage of a project; null: none. */
export interface ResourceLimits {
  memoryMb: number | null;
  cpus: number | null;
  processes: number | null;
  /** Lower priority of the scripts, 0 to 19. */
  nice: number;
}

export const noLimits: ResourceLimits = { memoryMb: null, cpus: null, processes: null, nice: 0 };

/** How the scripts of a project are run. */
export interface ExecutionSettings {
  /** Image of the containers of stages that name none; empty: no container. */
  image: string;
  /** The weakest isolation of a runner that may run its tasks. */
  isolation: IsolationLevel;
  /** Folders of the workspace that are kept for the next task. */
  cache: string[];
  limits: ResourceLimits;
}

/** What a stage says about containers. */
export interface ContainerStage {
  script: string;
  /** Absent: the project's image. */
  image?: string;
  /** Absent: it reaches other machines. */
  network?: "none";
}

/** For projects that say nothing about it. */
export const plainExecution: ExecutionSettings = {
  image: "",
  isolation: "none",
  cache: [],
  limits: noLimits,
};

/** Whether a runner without containers must not get its tasks. It would ignore the image, or the rule about the network. */
export function needsContainer(
  image: string,
  stages: Readonly<Record<"build" | "deploy" | "start", ContainerStage>>,
): boolean {
  return Object.values(stages).some(
    (stage) => stage.script !== "" && (image !== "" || stage.image !== undefined || stage.network === "none"),
  );
}
