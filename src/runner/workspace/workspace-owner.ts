import { chmodSync, chownSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The account that runs scripts. */
export interface Owner {
  name: string;
  uid: number;
  gid: number;
}

/**
 * Lets the account enter the runner's folders on the path to those of its task, and read its scripts; it owns none of
 * them. Other users of the machine cannot enter the folder of the task.
 */
export function letEnter(owner: Owner, root: string, scripts: string): void {
  const ofTask = dirname(scripts);
  for (let folder = dirname(ofTask); folder.startsWith(root); folder = dirname(folder))
    chmodSync(folder, 0o711);
  chownSync(ofTask, 0, owner.gid);
  chmodSync(ofTask, 0o710);
  chownSync(scripts, 0, owner.gid);
  chmodSync(scripts, 0o750);
}

/** Gives the checkout to the account, unless it has it; other users of the machine cannot enter it. Links are not followed. */
export async function giveTo(owner: Owner, folder: string): Promise<void> {
  if (statSync(folder).uid === owner.uid) return;
  const child = Bun.spawn(["chown", "-R", "-h", "-P", `${owner.uid}:${owner.gid}`, "--", folder], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const problems = new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Error(`${folder} could not be given to ${owner.name}: ${await problems}`);
  chmodSync(folder, 0o700);
}
