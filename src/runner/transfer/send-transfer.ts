import { existsSync } from "node:fs";
import { pause } from "../../clock.ts";
import { messageOf, ReasonError, thrownReason } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import type { WantedTransfer } from "../protocol.ts";
import { type ServerClient, ServerRefusal } from "../server/server-client.ts";
import type { Services } from "../service/services.ts";
import { attemptOf } from "../workspace/folders.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import { packFolder } from "./pack.ts";

export interface SendParts {
  workspaces: Pick<Workspaces, "root" | "kept" | "dataOf">;
  services: Pick<Services, "whileIdle">;
  client: Pick<ServerClient, "transferSent" | "transferEnd">;
  log: Logger;
  stop: AbortSignal;
}

/** How often a part is sent that does not arrive. */
const maxTries = 6;
const firstWaitMs = 250;

/** What cannot be sent, however often it is asked for. */
class Unavailable extends ReasonError {}
/** The server does not want it any more. */
class Unwanted extends Error {}

/** Sends what another runner needs: a release that is kept here, or the data of a project whose services are stopped. */
export async function sendTransfer(wanted: WantedTransfer, parts: SendParts): Promise<void> {
  const { client, workspaces, services, log, stop } = parts;
  const { id, kind, projectId, taskId } = wanted;
  const pack = (folder: string) =>
    packFolder(folder, { keepsOwners: kind === "data" }, (part, index) =>
      sendPart(wanted, part, index, parts),
    );
  try {
    const count =
      kind === "release"
        ? await pack(releaseFolder(wanted, parts))
        : await services.whileIdle(projectId, (writer) => {
            if (writer !== null) throw new Unavailable(writer);
            return pack(workspaces.dataOf(projectId));
          });
    await client.transferEnd({ id, parts: count }, stop);
    log.info({ kind, projectId, taskId, parts: count }, "sent to another runner");
  } catch (error) {
    if (error instanceof Unwanted) return;
    log.warn({ kind, projectId, taskId, error: messageOf(error) }, "could not be sent to another runner");
    const isFinal = error instanceof Unavailable;
    await client
      .transferEnd({ id, isFinal, ...reasonJson({ reason: thrownReason(error) }) }, stop)
      .catch(() => {});
  }
}

/** The files of a release that this runner keeps. */
function releaseFolder(
  { projectId, taskId, attempt, root }: WantedTransfer,
  { workspaces }: SendParts,
): string {
  if (root !== workspaces.root)
    throw new Unavailable(newReason("transfer_other_folder", { from: workspaces.root, to: root }));
  const kept = workspaces
    .kept(projectId)
    .find(({ taskId: id, folder }) => id === taskId && attemptOf(folder) === attempt);
  if (kept === undefined || !existsSync(kept.source))
    throw new Unavailable(newReason("transfer_not_kept", { task: taskId }));
  return kept.source;
}

async function sendPart(
  { id }: WantedTransfer,
  bytes: Uint8Array,
  part: number,
  { client, stop }: SendParts,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await client.transferSent(id, part, bytes, stop);
      if (answer.state === "failed") throw new Unwanted("The server does not want the transfer any more.");
      return;
    } catch (error) {
      const isRefused = error instanceof ServerRefusal && error.status < 500;
      if (error instanceof Unwanted || isRefused || stop.aborted || tries === maxTries) throw error;
      await pause(firstWaitMs * 2 ** tries, stop);
    }
  }
}
