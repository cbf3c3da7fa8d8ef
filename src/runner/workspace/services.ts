import { readFileSync } from "node:fs";
import { replaceFile } from "../../whole-file.ts";
import { livingMembers, type StartedService } from "../process/started-service.ts";

/** The services that start scripts of one project have left running on this machine, also under earlier runners. */
export interface Services {
  living(): StartedService[];
  add(service: StartedService): void;
}

/** Stored in a file beside the workspaces, because a service may outlive the workspace that it was started from. */
export function openServices(file: string): Services {
  const living = () => read(file).filter((service) => livingMembers(service).length > 0);
  return {
    living,
    add(service) {
      const others = living().filter(({ tree }) => tree.mark !== service.tree.mark);
      replaceFile(file, JSON.stringify([...others, service]));
    },
  };
}

function read(file: string): StartedService[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as StartedService[];
  } catch {
    return [];
  }
}
