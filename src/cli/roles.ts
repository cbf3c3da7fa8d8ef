import type { AppRole } from "../app/app-context.ts";

/** The commands that run a server, and what they run. */
export const roles = {
  start: "run everything on one port: push gateway, deploy service, console and a local runner",
  push: "run the push gateway alone",
  deploy: "run the deploy service alone",
} as const satisfies Record<AppRole, string>;

export function isRole(command: string | undefined): command is AppRole {
  return command !== undefined && Object.hasOwn(roles, command);
}
