import { Fault } from "../errors.ts";
import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Runner, runnerRevision } from "../model/runner.ts";
import { operation } from "../model/store.ts";
import { reasonText } from "../reason/reason.ts";
import { refuseIfChanged } from "../revision.ts";

interface RunnerChange {
  id: number;
  ifMatch?: string | undefined;
  change: Partial<Pick<Runner, "name" | "labels" | "groupIds" | "disabled">>;
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
  ): Promise<{ before: Runner; runner: Runner }> => {
    const before = await runners.hold(id);
    if (before) refuseIfChanged(ifMatch, runnerRevision(before), "runner");
    if (before?.local && change.labels && hasLocalLabels)
      throw new Fault("conflict", reasonText("local_labels"));
    const runner = before && (await runners.update(id, change));
    if (!runner) throw new Fault("not_found", reasonText("none", { noun: "runner", id }));
    const detail = { ...change, ...differencesOf(before, change) };
    await audit.add({ ...audited, subject: `runner ${before.name}`, detail });
    return { before, runner };
  },
);
