import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { renderReason } from "../../reason/reason.ts";
import { call, type EngineName } from "../process/container.ts";
import { engineFault } from "./engine-fault.ts";

/** The container engine of this machine. */
export interface Engine {
  name: EngineName;
  /** Additional arguments of `run`, from the settings of the runner. */
  arguments: string[];
}

export type EngineChoice = "auto" | EngineName | "none";

/** Queries the engine in a way that needs it to work: its server, or its storage. */
const questions: Record<EngineName, string[]> = {
  podman: ["podman", "info", "--format", "{{.Host.OCIRuntime.Name}}"],
  docker: ["docker", "version", "--format", "{{.Server.Version}}"],
};

/** Finds the engine; null if the choice is `none`, or `auto` and there is none. */
export async function findEngine(choice: EngineChoice, extra: string[], log: Logger): Promise<Engine | null> {
  if (choice === "none") return null;
  const names: EngineName[] = choice === "auto" ? ["podman", "docker"] : [choice];
  const faults: string[] = [];
  for (const name of names) {
    const fault = await faultOf(name);
    if (fault === null) return { name, arguments: extra };
    faults.push(fault);
    if (choice === "auto" && Bun.which(name) !== null) log.warn(`stages cannot run in containers: ${fault}`);
  }
  if (choice === "auto") return null;
  throw new Fault("invalid", `runner.engine is ${choice}, but ${faults.join("; ")}.`);
}

async function faultOf(name: EngineName): Promise<string | null> {
  if (Bun.which(name) === null) return `${name} is not installed`;
  const { exitCode, output } = await call(questions[name]);
  if (exitCode === 0) return null;
  const why = engineFault(125, output) ?? output.trim().split("\n").at(-1) ?? "";
  return `${name} does not work: ${renderReason(why)}`;
}
