import type { Reason } from "../../reason/reason.ts";
import type { RunTask, WireService } from "../protocol.ts";
import type { StageEnd } from "../stage/stage-script.ts";
import type { WritableFolder } from "../workspace/release-folders.ts";

/** A release and what its services need. */
export interface ServiceRelease {
  projectId: number;
  /** The task that built it. */
  taskId: number;
  commit: string;
  services: WireService[];
  /** The folder of the workspace; it is in use as long as a service of it runs. */
  workspace: string;
  /** The checkout. */
  source: string;
  /** Whether the checkout can only be read. */
  isReadOnly: boolean;
  /** Folders outside of the checkout that links in it lead to. */
  writable: WritableFolder[];
  /** The project's limits. */
  resources: RunTask["resources"];
  /** Variables that all services get, secrets included; PORT, CI_STAGE, CI_STEP and those of a service are added. */
  variables: Record<string, string>;
  /** Names of the variables whose values are secret. */
  secrets: string[];
  /** Names of the secrets that services get as files. */
  files: string[];
}

/** How a start is followed. */
export interface StartProgress {
  /** A service is about to start. False: the task must not continue. */
  begin(name: string, port: number | null): Promise<boolean>;
  /** The start of a service that has begun has ended. The reason of a failure has the last lines. */
  end(name: string, end: StageEnd): Promise<void>;
  /** A line of the runner itself. */
  line(name: string, text: Reason): void;
  /** What a service printed until its check passed. */
  output(name: string, bytes: Uint8Array): void;
}

export interface DeployProgress extends StartProgress {
  /** Services of the release that serves are about to end, or to be replaced. False: the task must not continue. */
  replacing(): Promise<boolean>;
  /** Runs the script `switch` of a service; null: it succeeded. Called again with the earlier service if the deploy fails later. */
  runSwitch(service: WireService, port: number | null): Promise<Reason | null>;
}

/** The end of a deploy. If it was canceled its reason is empty: the caller knows why. */
export interface DeployEnd extends StageEnd {
  /** What has become of the services of the release that served before, if the deploy did not succeed. */
  earlier: "none" | "untouched" | "restored" | "not restored";
}
