import type { NewAuditEntry } from "../../model/audit.ts";
import { operation } from "../../model/store.ts";
import { callKeeper, type KeeperCall } from "../query/keeper-call.ts";

interface AuditedCall {
  call: KeeperCall;
  entry: NewAuditEntry;
}

/** A call of a keeper together with the entry about it. */
export const auditedCall = operation(
  "auditedCall",
  async (keepers, { call, entry }: AuditedCall): Promise<unknown> => {
    const result = await callKeeper(keepers, call);
    if (result !== null && result !== false) await keepers.audit.add(entry);
    return result;
  },
);
