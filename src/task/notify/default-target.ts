import type { Project } from "../../model/project.ts";
import { defaultTargetName, sealedPurpose } from "../../model/sealed.ts";
import type { NotifyTarget } from "../../model/settings/notify-target.ts";
import type { MetaKeeper } from "../../model/store.ts";
import type { Secrets } from "../../secrets.ts";
import type { TargetAddress } from "./target-address.ts";

/** The target that receives the messages of all projects that do not exclude it. It is stored as JSON. */
export interface DefaultTarget {
  target: NotifyTarget;
  /** Its address and secret, encrypted. */
  ciphertext: string;
}

/** Shorter than the id of any target of a project. */
export const defaultTargetId = "default";

type MetaReader = Pick<MetaKeeper, "get">;

/** Null: there is none. */
export async function readDefaultTarget(meta: MetaReader): Promise<DefaultTarget | null> {
  return parsed(await meta.get(defaultTargetName));
}

/** The default target, if it receives the messages of the project. `known`: what is stored, if the caller has read it. */
export async function defaultTargetFor(
  meta: MetaReader,
  { defaultNotify }: Pick<Project, "defaultNotify">,
  known?: string | null,
): Promise<NotifyTarget | null> {
  if (!defaultNotify) return null;
  const stored = known === undefined ? await readDefaultTarget(meta) : parsed(known);
  return stored?.target ?? null;
}

function parsed(stored: string | null): DefaultTarget | null {
  return stored === null ? null : (JSON.parse(stored) as DefaultTarget | null);
}

export function sealDefaultAddress(secrets: Secrets, address: TargetAddress): string {
  return secrets.seal(sealedPurpose.defaultNotify(), JSON.stringify(address));
}

export function openDefaultAddress(secrets: Secrets, { ciphertext }: DefaultTarget): TargetAddress {
  return JSON.parse(secrets.open(sealedPurpose.defaultNotify(), ciphertext)) as TargetAddress;
}
