import { Fault } from "../../errors.ts";
import { targetSecretName } from "../../model/sealed.ts";
import type { NotifyTarget } from "../../model/settings/notify-target.ts";
import type { NewSecret } from "../../model/settings/stored-secret.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { randomToken, type Secrets } from "../../secrets.ts";
import { chatAddressFault, signedFormats } from "./chat-request.ts";
import {
  isShortened,
  openAddresses,
  sealAddress,
  shownAddress,
  type TargetAddress,
} from "./target-address.ts";

/** A target in a request. Absent fields keep their stored values. */
export interface SentTarget {
  id?: string | undefined;
  url?: string | undefined;
  format?: NotifyTarget["format"] | undefined;
  events?: NotifyTarget["events"] | undefined;
  logLines?: number | undefined;
  /** Null: no secret. */
  secret?: string | null | undefined;
}

/** The targets after a change. */
export interface ChangedTargets {
  notify: NotifyTarget[];
  addresses: Map<string, TargetAddress>;
}

export interface TargetRules {
  /** The formats whose targets may have a secret. */
  signed?: readonly NotifyTarget["format"][];
  /** Where the request has a field of a target. */
  pathOf?: (index: number, field: string) => string;
}

export function newTargetId(): string {
  return randomToken(6);
}

/**
 * Applies the targets of a request to those of a project. Responses contain shortened addresses, so a request may send
 * a target back with its id, or with the shortened address; the stored address is kept.
 */
export function changeTargets(
  held: NotifyTarget[],
  addresses: ReadonlyMap<string, TargetAddress>,
  sent: SentTarget[],
  { signed = signedFormats, pathOf = (index, field) => `notify.${index}.${field}` }: TargetRules = {},
): ChangedTargets {
  const refuse = (index: number, field: string, message: Reason): never => {
    throw new Fault("invalid", newReason("target_refused", { field: `${index}.${field}`, fault: message }), {
      fields: [{ field: pathOf(index, field), message }],
    });
  };
  const changed: ChangedTargets = { notify: [], addresses: new Map() };
  const free = new Set(held);
  sent.forEach((target, index) => {
    const before = heldBy(target, free, addresses);
    if (before) free.delete(before);
    if (target.id !== undefined && before === undefined) refuse(index, "id", newReason("target_unknown"));
    const address = changedAddressOf(target, before && addresses.get(before.id), (field, fault) =>
      refuse(index, field, fault),
    );
    const format = target.format ?? before?.format ?? "slipway";
    const fault = chatAddressFault(format, address.url);
    if (fault !== null) refuse(index, "url", fault);
    if (target.secret && !signed.includes(format))
      refuse(index, "secret", newReason("target_secret", { formats: signed.join(" and "), format }));
    const secret = signed.includes(format) ? address.secret : null;
    const id = before?.id ?? newTargetId();
    changed.addresses.set(id, { url: address.url, secret });
    changed.notify.push({
      id,
      format,
      url: shownAddress(address.url),
      // Without an id it is a complete target, as in versions before targets had ids.
      events: target.events ?? (target.id === undefined ? [] : before?.events) ?? [],
      logLines: target.logLines ?? before?.logLines ?? 0,
      hasSecret: secret !== null,
    });
  });
  return changed;
}

function heldBy(
  { id, url }: SentTarget,
  free: ReadonlySet<NotifyTarget>,
  addresses: ReadonlyMap<string, TargetAddress>,
): NotifyTarget | undefined {
  const some = [...free];
  if (id !== undefined) return some.find((target) => target.id === id);
  return some.find((target) => url === target.url || url === addresses.get(target.id)?.url);
}

function changedAddressOf(
  { url, secret }: SentTarget,
  held: TargetAddress | undefined,
  refuse: (field: string, fault: Reason) => never,
): TargetAddress {
  const isKept = url === undefined || isShortened(url);
  if (isKept && held === undefined)
    return refuse("url", url === undefined ? newReason("required") : newReason("target_shortened"));
  if (url !== undefined && isShortened(url) && held && shownAddress(held.url) !== url)
    return refuse("url", newReason("target_shortened_other"));
  return {
    url: isKept ? (held?.url ?? "") : url,
    secret: secret === undefined ? (held?.secret ?? null) : secret || null,
  };
}

/** Reads the data of a project that `changeTargets` needs. */
export function heldAddresses(
  projects: Pick<Keepers["projects"], "secrets">,
  secrets: Secrets,
  project: { id: number; notify: NotifyTarget[] },
): Promise<Map<string, TargetAddress>> {
  return openAddresses(
    projects,
    secrets,
    project.id,
    project.notify.map(({ id }) => id),
  );
}

/** The encrypted addresses of a change, and the names of those of removed targets. */
export function changedSecrets(
  secrets: Secrets,
  projectId: number,
  before: NotifyTarget[],
  addresses: ReadonlyMap<string, TargetAddress>,
): { stored: NewSecret[]; removed: string[] } {
  return {
    stored: [...addresses].map(([id, address]) => sealAddress(secrets, projectId, id, address)),
    removed: before.filter(({ id }) => !addresses.has(id)).map(({ id }) => targetSecretName(id)),
  };
}
