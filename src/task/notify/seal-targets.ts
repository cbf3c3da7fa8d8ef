import type { Log } from "../../log.ts";
import type { NotifyTarget } from "../../model/project.ts";
import type { Keepers, Store } from "../../model/store.ts";
import type { Secrets } from "../../secrets.ts";
import { newTargetId } from "./change-targets.ts";
import { sealAddress, shownAddress } from "./target-address.ts";

/** Remembers that all addresses are encrypted. A restored backup of an earlier version does not have it. */
const doneName = "notification targets are encrypted";
const lockWaitMs = 60_000;
const projectsPerPage = 200;

/** As earlier versions stored a target. */
type EarlierTarget = Pick<NotifyTarget, "url" | "events"> & Partial<NotifyTarget>;

/** Encrypts the addresses of notification targets that an earlier version stored as text. */
export async function sealEarlierTargets(store: Store, secrets: Secrets, log: Log): Promise<void> {
  if ((await store.meta.get(doneName)) !== null) return;
  const done = await store.withLock("notification targets", lockWaitMs, async (locked) => {
    if ((await locked.meta.get(doneName)) !== null) return 0;
    let sealed = 0;
    for (let page = 1; ; page++) {
      const { items } = await locked.projects.list({}, { page, pageSize: projectsPerPage });
      for (const { id, notify } of items) sealed += await sealProject(locked, secrets, id, notify);
      if (items.length < projectsPerPage) break;
    }
    await locked.outgoingCalls.deleteUnassigned();
    await locked.meta.set(doneName, "yes");
    return sealed;
  });
  if (done !== "timeout" && done > 0) log.info({ targets: done }, "notification addresses were encrypted");
}

async function sealProject(
  keepers: Pick<Keepers, "projects" | "outgoingCalls">,
  secrets: Secrets,
  projectId: number,
  targets: EarlierTarget[],
): Promise<number> {
  const earlier = targets.filter(({ id }) => id === undefined);
  if (earlier.length === 0) return 0;
  const notify: NotifyTarget[] = [];
  for (const target of targets) {
    const id = target.id ?? newTargetId();
    const shown = shownAddress(target.url);
    if (target.id === undefined) {
      const { name, ciphertext } = sealAddress(secrets, projectId, id, { url: target.url, secret: null });
      await keepers.projects.setSecret(projectId, name, ciphertext);
      await keepers.outgoingCalls.assign(projectId, target.url, id);
    }
    notify.push({ format: "slipway", logLines: 0, hasSecret: false, ...target, id, url: shown });
  }
  await keepers.projects.update(projectId, { notify });
  return earlier.length;
}
