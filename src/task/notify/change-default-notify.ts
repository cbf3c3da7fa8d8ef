import { Fault } from "../../errors.ts";
import type { NewAuditEntry } from "../../model/audit.ts";
import { defaultTargetName } from "../../model/sealed.ts";
import type { NotifyFormat } from "../../model/settings/notify-target.ts";
import { operation } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import type { Secrets } from "../../secrets.ts";
import { changeTargets, type SentTarget } from "./change-targets.ts";
import { signedFormats } from "./chat-request.ts";
import {
  type DefaultTarget,
  defaultTargetId,
  openDefaultAddress,
  sealDefaultAddress,
} from "./default-target.ts";
import { addressFault } from "./guarded-request.ts";

/** No project's key signs its webhooks: it has a secret of its own. */
const ownSecretFormats: readonly NotifyFormat[] = [...signedFormats, "slipway"];

/** The default target after a change; fields that are absent keep their stored values. */
export function changedDefault(
  secrets: Secrets,
  held: DefaultTarget | null,
  sent: Omit<SentTarget, "id">,
  allowInternal: boolean,
): DefaultTarget {
  const fault = sent.url === undefined ? null : addressFault(sent.url, allowInternal);
  if (fault !== null)
    throw new Fault("invalid", newReason("target_refused", { field: "url", fault }), {
      fields: [{ field: "url", message: fault }],
    });
  const before = held === null ? [] : [held.target];
  const addresses = new Map(held === null ? [] : [[defaultTargetId, openDefaultAddress(secrets, held)]]);
  const asked = held === null ? sent : { ...sent, id: defaultTargetId };
  const { notify, addresses: changed } = changeTargets(before, addresses, [asked], {
    signed: ownSecretFormats,
    pathOf: (_, field) => field,
  });
  const [target] = notify;
  const [address] = changed.values();
  if (!target || !address) throw new Error("a changed target is missing");
  return {
    target: { ...target, id: defaultTargetId },
    ciphertext: sealDefaultAddress(secrets, address),
  };
}

interface DefaultChange {
  /** Null: there is none any more. */
  changed: DefaultTarget | null;
  audited: NewAuditEntry;
}

export const changeDefaultNotify = operation(
  "changeDefaultNotify",
  async ({ meta, audit }, { changed, audited }: DefaultChange): Promise<void> => {
    await meta.set(defaultTargetName, JSON.stringify(changed));
    await audit.add(audited);
  },
);
