import { statSync } from "node:fs";
import { join } from "node:path";
import { outputFile } from "../keeper/keeper.ts";
import { buildMasker } from "../log/masker.ts";
import { foldersIn } from "../workspace/folders.ts";
import { removeFolder } from "../workspace/remove-folder.ts";
import type { Instance, InstanceParts } from "./instance.ts";
import { instanceFoldersIn, readInstance } from "./instance-folder.ts";
import type { OutputPart } from "./read-output.ts";
import { openOutput } from "./service-output.ts";

/** The output of a project's services, those of earlier releases included. */
export function openKeptOutput(
  {
    root,
    projectId,
    instances,
  }: { root: string; projectId: number; instances: ReadonlyMap<string, Instance> },
  parts: InstanceParts,
) {
  return {
    /** That of one service, oldest first. */
    of(name: string): OutputPart[] {
      return instanceFoldersIn(root, projectId, name).flatMap((at) => {
        const running = instances.get(at);
        if (running !== undefined) return [running.part()];
        const record = readInstance(at);
        if (record === null) return [];
        const masker = buildMasker(record.secrets.map((each) => record.variables[each] ?? ""));
        return [{ output: openOutput(at, parts), masker, isGrowing: false }];
      });
    },
    /** Frees what is beyond the bounds, and removes what earlier releases have left beyond them. */
    async limit(): Promise<void> {
      const { maxBytes, maxAgeMs } = parts.bounds;
      for (const name of foldersIn(join(root, String(projectId)))) {
        let used = 0;
        for (const at of instanceFoldersIn(root, projectId, name).toReversed()) {
          const running = instances.get(at);
          used += (running?.output ?? openOutput(at, parts)).look();
          if (running !== undefined || readInstance(at)?.isRetired === false) continue;
          const changedAt = statSync(join(at, outputFile), { throwIfNoEntry: false })?.mtimeMs ?? 0;
          if (used > maxBytes || parts.clock.now() - changedAt > maxAgeMs) await removeFolder(at);
        }
      }
    },
  };
}
