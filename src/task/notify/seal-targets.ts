import type { Logger } from "../../logger.ts";
import type { NewSecret, NotifyTarget } from "../../model/project.ts";
import { type OperationKeepers, operation, type Store } from "../../model/store.ts";
import type { Secrets } from "../../secrets.ts";
import { newTargetId } from "./change-targets.ts";
import { sealAddress, shownAddress } from "./target-address.ts";

/** Records that all addresses are encrypted. A restored backup of an earlier version lacks this value. */
const doneName = "notification targets are encrypted";
const projectsPerPage = 200;

/** A target as earlier versions stored it. */
type EarlierTarget = Pick<NotifyTarget, "url" | "events"> & Partial<NotifyTarget>;

/** Encrypts the addresses of notification targets that an earlier version stored as text. */
export async function sealEarlierTargets(store: Store, secrets: Secrets, log: Logger): Promise<void> {
  if (await store.run(areTargetsSealed, null)) return;
  let targets = 0;
  for (let page = 1; ; page++) {
    const { items } = await store.projects.list({}, { page, pageSize: projectsPerPage });
    for (const { id, notify } of items) {
      const sealed = sealedTargets(secrets, id, notify);
      if (sealed && (await store.run(sealTargets, sealed))) targets += sealed.addresses.length;
    }
    if (items.length < projectsPerPage) break;
  }
  await store.run(finishSealing, null);
  if (targets > 0) log.info({ targets }, "notification addresses were encrypted");
}

interface SealedTargets {
  projectId: number;
  /** As they were read. */
  before: EarlierTarget[];
  notify: NotifyTarget[];
  addresses: { id: string; url: string; sealed: NewSecret }[];
}

function sealedTargets(secrets: Secrets, projectId: number, before: EarlierTarget[]): SealedTargets | null {
  const addresses: SealedTargets["addresses"] = [];
  if (before.every(({ id }) => id !== undefined)) return null;
  // An address that is not a URL could never be called. It must not prevent the server from starting.
  const usable = before.filter(({ url }) => URL.canParse(url));
  const notify = usable.map((target): NotifyTarget => {
    const { url } = target;
    const id = target.id ?? newTargetId();
    if (target.id === undefined)
      addresses.push({ id, url, sealed: sealAddress(secrets, projectId, id, { url, secret: null }) });
    return { format: "slipway", logLines: 0, hasSecret: false, ...target, id, url: shownAddress(url) };
  });
  return { projectId, before, notify, addresses };
}

/** True also for a new database, so that its first start need not list projects. */
export const areTargetsSealed = operation("areTargetsSealed", async (keepers): Promise<boolean> => {
  if ((await keepers.meta.get(doneName)) !== null) return true;
  const { total } = await keepers.projects.list({}, { page: 1, pageSize: 1 });
  if (total === 0) await finish(keepers);
  return total === 0;
});

/** False: another instance encrypted them first. */
export const sealTargets = operation(
  "sealTargets",
  async (keepers, { projectId, before, notify, addresses }: SealedTargets): Promise<boolean> => {
    const current = await keepers.projects.hold(projectId);
    if (JSON.stringify(current?.notify) !== JSON.stringify(before)) return false;
    for (const { id, url, sealed } of addresses) {
      await keepers.projects.setSecret(projectId, sealed.name, sealed.ciphertext);
      await keepers.outgoingCalls.assign(projectId, url, id);
    }
    await keepers.projects.update(projectId, { notify });
    return true;
  },
);

export const finishSealing = operation("finishSealing", finish);

async function finish(keepers: OperationKeepers): Promise<void> {
  await keepers.outgoingCalls.deleteUnassigned();
  await keepers.meta.set(doneName, "yes");
}
