import { ReasonError, thrownReason } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { RunTask } from "../protocol.ts";
import type { ServerClient } from "../server/server-client.ts";
import { type FetchOptions, fetchArchive } from "../transfer/fetch-archive.ts";
import { type IncomingData, openIncomingData } from "../transfer/fetch-data.ts";
import { unpackInto } from "../transfer/pack.ts";
import type { ProjectDisk } from "../workspace/project-disk.ts";
import { treeDigest } from "../workspace/tree-digest.ts";
import type { IncomingRelease, Workspace, Workspaces } from "../workspace/workspace.ts";

type Fetch = NonNullable<RunTask["release"]["fetch"]>;
type Parts = Pick<FetchOptions, "held" | "log" | "writeLine"> & {
  client: ServerClient;
  workspaces: Workspaces;
  disk: Pick<ProjectDisk, "room">;
};

/** Puts the files of a release that this runner does not have in its place, or says why not. */
export async function receiveRelease(
  instruction: RunTask,
  { source, holder, digest }: Fetch,
  incoming: IncomingRelease,
  parts: Parts,
): Promise<Workspace | { fault: Reason }> {
  const { writeLine } = parts;
  const { workspace } = incoming;
  try {
    writeLine(`[fetching the release of task ${source.taskId} from the runner ${holder}]`);
    const fault = await fetchArchive({
      ...optionsOf(instruction, parts),
      kind: "release",
      async unpack(stream) {
        const room = await parts.disk.room(instruction.limits.diskBytes ?? null);
        await unpackInto(workspace.source, stream, { keepsOwners: false, room });
        if (digest !== null) await mustHave(digest, workspace.source, holder, writeLine);
      },
      drop: incoming.begin,
    });
    if (fault !== null) return { fault: newReason("transfer_failed", { runner: holder, why: fault }) };
    return await incoming.place(digest);
  } catch (error) {
    return { fault: newReason("transfer_failed", { runner: holder, why: thrownReason(error) }) };
  }
}

/** What was tested is what serves here, byte by byte. */
async function mustHave(
  digest: string,
  source: string,
  runner: string,
  writeLine: Parts["writeLine"],
): Promise<void> {
  const found = await treeDigest(source);
  if (found.digest !== digest) throw new ReasonError(newReason("transfer_digest", { runner, digest }));
  writeLine(`[the files have the SHA-256 with which they were sealed: ${digest}]`);
}

/** The data of the project, in its place; or why it is not. */
export async function receiveData(
  instruction: RunTask,
  { holder }: Fetch,
  parts: Parts,
): Promise<IncomingData | { fault: Reason }> {
  const data = openIncomingData(parts.workspaces.dataOf(instruction.projectId));
  parts.writeLine(`[fetching the data from the runner ${holder}, which stops the services there first]`);
  try {
    const fault = await fetchArchive({
      ...optionsOf(instruction, parts),
      ...{ kind: "data", drop: data.drop },
      async unpack(stream) {
        const room = await parts.disk.room(instruction.limits.diskBytes ?? null);
        await unpackInto(await data.begin(), stream, { keepsOwners: true, room });
      },
    });
    if (fault !== null) return { fault: newReason("transfer_failed", { runner: holder, why: fault }) };
    data.place();
    return data;
  } catch (error) {
    await data.drop();
    return { fault: newReason("transfer_failed", { runner: holder, why: thrownReason(error) }) };
  }
}

function optionsOf({ taskId, attempt, lease }: RunTask, { client, workspaces, held, log, writeLine }: Parts) {
  return { task: { taskId, attempt, lease }, root: workspaces.root, client, held, log, writeLine };
}
