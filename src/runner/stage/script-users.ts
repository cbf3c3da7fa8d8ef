import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Trust } from "../workspace/trust.ts";
import { mustBeRoot, type ScriptUser } from "./script-user.ts";

/** User ids that belong to this runner alone, both included. */
export interface UserRange {
  from: number;
  to: number;
}

/**
 * Gives each project a user id of its own for each trust level, so that scripts of other projects, and builds of refs that
 * everyone can push to, can change neither a workspace that waits for an approval nor a kept release. A file for each id
 * says whose it is. An id is never given to another project: files and processes of the first may remain.
 */
export function openScriptUsers({ from, to }: UserRange, root: string) {
  mustBeRoot("runner.scriptUsers", `${from}-${to}`);
  const folder = join(root, "users");
  const homes = join(root, "home");
  const known = () => new Map(readdirSync(folder).map((name) => [textOf(join(folder, name)), Number(name)]));

  function take(key: string): number {
    const found = known().get(key);
    if (found !== undefined && found >= from && found <= to) return found;
    for (let uid = from; uid <= to; uid++) if (isTaken(join(folder, String(uid)), key)) return uid;
    throw new Error(
      `runner.scriptUsers: all user ids from ${from} to ${to} belong to projects. Give this runner a larger range; each project needs up to three.`,
    );
  }

  return {
    userFor(projectId: number, trust: Trust): ScriptUser {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const uid = take(`project-${projectId}-${trust}`);
      const home = join(homes, String(uid));
      mkdirSync(homes, { recursive: true, mode: 0o711 });
      mkdirSync(home, { recursive: true, mode: 0o700 });
      chownSync(home, uid, uid);
      return userOf(uid, home);
    },
  };
}

/** For a check at start that holds for all of them. */
export function anyUserOf({ from }: UserRange): ScriptUser {
  return userOf(from, "/");
}

function userOf(uid: number, home: string): ScriptUser {
  return { name: `slipway-${uid}`, uid, gid: uid, home, shell: "/bin/sh", groups: [], isAccount: false };
}

/** Of two runners in one folder, only one gets the id. */
function isTaken(file: string, key: string): boolean {
  try {
    writeFileSync(file, key, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function textOf(file: string): string {
  return readFileSync(file, "utf8");
}
