import { Fault } from "../errors.ts";
import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Registration, type Runner, runnerRevision } from "../model/runner.ts";
import { operation } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { existing, refuseIfChanged } from "../revision.ts";

interface RunnerChange {
  id: number;
  ifMatch?: string | undefined;
  change: Partial<Registration>;
  /** Whether the labels of the local runner are a setting. */
  hasLocalLabels: boolean;
  /** The entry that is stored with the change; subject and detail follow from the runner. */
  audited: NewAuditEntry;
}

export const changeRunner = operation(
  "changeRunner",
  async (
    { runners, audit },
    { id, ifMatch, change, hasLocalLabels, audited }: RunnerChange,
  ): Promise<Runner> => {
    const before = existing(await runners.hold(id), "runner", id);
    refuseIfChanged(ifMatch, runnerRevision(before), "runner");
    if (before.local && change.labels && hasLocalLabels)
      throw new Fault("conflict", newReason("local_labels"));
    const runner = existing(await runners.update(id, change), "runner", id);
    const detail = { ...change, ...differencesOf(before, change) };
    await audit.add({ ...audited, subject: `runner ${before.name}`, detail });
    return runner;
  },
);
