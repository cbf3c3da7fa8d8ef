import { Fault } from "../errors.ts";
import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import type { AddedCall } from "../model/outgoing-call.ts";
import { type Registration, type Runner, runnerRevision } from "../model/runner.ts";
import { operation } from "../model/store.ts";
import type { Task } from "../model/task.ts";
import { newReason } from "../reason/reason.ts";
import { existing, refuseIfChanged } from "../revision.ts";
import { reportEnd } from "./notify/report-task.ts";
import { ended } from "./transitions.ts";

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

/** Deletes a runner. What only it could take is canceled. */
export const deleteRunner = operation(
  "deleteRunner",
  async (
    keepers,
    { id, consoleUrl, audited }: { id: number; consoleUrl: string; audited: NewAuditEntry },
  ): Promise<{ canceled: Task[]; calls: AddedCall[] }> => {
    const { name } = existing(await keepers.runners.byId(id), "runner", id);
    const canceled: Task[] = [];
    const calls: AddedCall[] = [];
    for (const task of await keepers.tasks.queuedFor(id)) {
      const set = {
        ...ended(task, "canceled", keepers.now()),
        reason: newReason("runner_was_deleted", { runner: name }),
      };
      const changed = await keepers.tasks.change(task.id, { whileIn: ["queued"], set });
      if (changed === null) continue;
      canceled.push(changed);
      calls.push(...(await reportEnd(keepers, changed, consoleUrl)));
    }
    await keepers.runners.delete(id);
    await keepers.audit.add(audited);
    return { canceled, calls };
  },
);
