import { newReason, type Reason } from "../reason/reason.ts";
import { sshFault } from "./ssh-fault.ts";

/** Hosts redirect the former name of a repository. Where git follows no redirect, it reports the status. */
const redirected = /The requested URL returned error: 30[1278]|unable to update url base from redirection/i;

/** What git prints of a place, on this machine or over ssh, where there is no repository. */
const noRepository = /does not appear to be a git repository|repository '[^']*' does not exist/i;

/** Explains why git could not read a repository; null: only git's own words say it. */
export function gitFault(
  output: string,
  remote: { url: string; credential: { type: string } | null },
  program: "runner" | "server",
): Reason | null {
  if (redirected.test(output)) return newReason("clone_redirected", { url: remote.url });
  if (noRepository.test(output)) return newReason("no_repository_there", { url: remote.url });
  return sshFault(output, remote, program);
}
