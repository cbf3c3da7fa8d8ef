/** What keeps scripts from what the runner can read, from weak to strong. */
export const isolationLevels = ["none", "sandbox", "container"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];
export const weakestIsolation = isolationLevels[0];
export const strongestIsolation = isolationLevels[2];

/** Bounds for each step of a project; null: none. */
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
  /** Image of the containers of steps that name none; empty: no container. */
  image: string;
  /** The weakest isolation of a runner that may run its tasks. */
  isolation: IsolationLevel;
  /** Folders of the workspace, or below `~/`, that are kept for the next task. */
  cache: string[];
  limits: ResourceLimits;
}

/** For projects that say nothing about it. */
export const plainExecution: ExecutionSettings = {
  image: "",
  isolation: "none",
  cache: [],
  limits: noLimits,
};
