import { newReason } from "../../reason/reason.ts";
import type { RunTask, ServiceAction } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { runStep } from "../stage/run-step.ts";
import { failed, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import type { Step } from "../stage/step.ts";
import { openStageFolders } from "../workspace/stage-folders.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import { isGoing, type StagesParts } from "./run-stages.ts";
import { sealRelease } from "./seal-release.ts";
import { startProgress } from "./start-services.ts";

export interface ActionParts
  extends Omit<StagesParts, "workspace" | "stages" | "leaveBuild" | "releaseFault" | "caches" | "former"> {
  workspaces: Workspaces;
}

/** Does what a person asks of the release that serves. Nothing is checked out or built. */
export function runAction(
  action: ServiceAction,
  instruction: RunTask,
  parts: ActionParts,
): Promise<StageEnd> {
  if (action.type === "exec")
    return parts.services.command(instruction.projectId, parts.held.stopped, () =>
      runCommandInRelease(action, instruction, parts),
    );
  return action.type === "leave"
    ? leaveProject(action, instruction, parts)
    : actOnServices(action, instruction, parts);
}

/** The project is served elsewhere now: nothing of it runs here any more, also after a start of the runner, and its releases go. */
async function leaveProject(
  { services: names }: Extract<ServiceAction, { type: "leave" }>,
  { projectId }: RunTask,
  { held, log, services, workspaces }: ActionParts,
): Promise<StageEnd> {
  const places = names.map((step) => ({ stage: "start", step }) as const);
  for (const place of places)
    if (!(await isGoing(held, { ...place, state: "running", exitCode: null })))
      return stoppedEnd("leave", held);
  const end = await services.leave(projectId, startProgress({ log, report: async () => true }), held.stopped);
  if (end.state === "success") await workspaces.leave(projectId);
  for (const place of places) await held.stage({ ...place, state: end.state, exitCode: end.exitCode });
  return end.state === "canceled" ? stoppedEnd("leave", held) : end;
}

async function actOnServices(
  { type, services: names }: Exclude<ServiceAction, { type: "exec" | "leave" }>,
  { projectId }: RunTask,
  { held, log, services }: ActionParts,
): Promise<StageEnd> {
  const report = (said: Parameters<HeldTask["stage"]>[0]) => isGoing(held, said);
  // A stop starts nothing, so that nothing else reports it.
  const stopped = (type === "stop" ? names : []).map((step) => ({ stage: "start", step }) as const);
  for (const place of stopped)
    if (!(await report({ ...place, state: "running", exitCode: null }))) return stoppedEnd(type, held);
  const end = await services.act(projectId, type, names, startProgress({ log, report }), held.stopped);
  for (const place of stopped) await report({ ...place, state: end.state, exitCode: end.exitCode });
  return end.state === "canceled" ? stoppedEnd(type, held) : end;
}

async function runCommandInRelease(
  { command, timeoutMs }: Extract<ServiceAction, { type: "exec" }>,
  instruction: RunTask,
  parts: ActionParts,
): Promise<StageEnd> {
  const { held, workspaces, execution } = parts;
  const { from } = instruction.release;
  const workspace = from && (await workspaces.reopen(instruction.projectId, from.taskId, from.attempt));
  if (!workspace) return failed(newReason("nothing_serves"));
  const place = { stage: "start", step: "exec" } as const;
  if (!(await isGoing(held, { ...place, state: "running", exitCode: null }))) return stoppedEnd("exec", held);
  const { user } = execution;
  const writeLine = (text: string) => parts.log.writeLine("system", text);
  const writable = await sealRelease(instruction, {
    ...{ workspace, workspaces, user, held, writeLine },
    linked: () => [],
  });
  const stages = openStageFolders(workspace.folder, user);
  const context = {
    ...parts,
    ...{ instruction, workspace, writable, stages, checkedOut: from, caches: null },
    begun() {},
  };
  const end = await runStep(execStep(command, timeoutMs), context).finally(() => stages.remove());
  await held.stage({ ...place, state: end.state, exitCode: end.exitCode });
  return end;
}

function execStep(command: string[], timeoutMs: number): Step {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return {
    ...{ name: "exec", stage: "start", title: "exec", script: quoted.join(" "), timeoutMs },
    ...{
      directory: "",
      image: "",
      network: "bridge",
      host: false,
      onRollback: false,
      once: false,
      pause: false,
      check: null,
    },
  };
}
