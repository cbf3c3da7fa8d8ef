import { sealedPurpose, targetSecretName } from "../../model/sealed.ts";
import type { NotifyTarget } from "../../model/settings/notify-target.ts";
import type { Keepers } from "../../model/store.ts";
import type { Secrets } from "../../secrets.ts";
import { isChannelAddress } from "./release-message.ts";

/** The encrypted part of a notification target. */
export interface TargetAddress {
  url: string;
  /** Signs messages if the format has signatures. */
  secret: string | null;
}

/** Marks a shortened address. */
const omission = "…";
const shownLength = 4;
/** If the rest is shorter, four characters would reveal too much. */
const minRestLength = 8;

/** The part of an address that may be shown: its host and its last four characters. */
export function shownAddress(url: string): string {
  if (isShortened(url) || isChannelAddress(url)) return url;
  const { protocol, host, pathname, search, hash } = new URL(url);
  const rest = `${pathname}${search}${hash}`;
  const shown = rest.length < minRestLength ? "" : rest.slice(-shownLength);
  return `${protocol}//${host}/${omission}${shown}`;
}

export function isShortened(url: string): boolean {
  return url.includes(`/${omission}`);
}

export function sealAddress(
  secrets: Secrets,
  projectId: number,
  targetId: string,
  address: TargetAddress,
): { name: string; ciphertext: string } {
  const name = targetSecretName(targetId);
  return {
    name,
    ciphertext: secrets.seal(sealedPurpose.projectSecret(projectId, name), JSON.stringify(address)),
  };
}

/** Reads the addresses of a project's targets by their ids. */
export async function openAddresses(
  projects: Pick<Keepers["projects"], "secrets">,
  secrets: Secrets,
  projectId: number,
  targetIds: readonly NotifyTarget["id"][],
): Promise<Map<string, TargetAddress>> {
  const opened = new Map<string, TargetAddress>();
  if (targetIds.length === 0) return opened;
  const stored = await projects.secrets(projectId);
  for (const id of targetIds) {
    const name = targetSecretName(id);
    const held = stored.find((secret) => secret.name === name);
    if (held === undefined) continue;
    const text = secrets.open(sealedPurpose.projectSecret(projectId, name), held.ciphertext);
    opened.set(id, JSON.parse(text) as TargetAddress);
  }
  return opened;
}
