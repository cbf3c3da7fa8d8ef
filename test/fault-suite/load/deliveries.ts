import { createHmac, randomUUID } from "node:crypto";
import type { Delivery } from "../reconciler/history.ts";
import type { Instance } from "../setups/part.ts";
import { elapsedMs } from "../timeline.ts";
import { request } from "./http.ts";

export const hookSecret = "the secret of the fault suite";

/** A push as GitHub sends it, signed. */
export async function deliver(
  instance: Instance,
  projectId: number,
  hookPath: string,
  branch: string,
  commit: string,
): Promise<Delivery> {
  const body = JSON.stringify({
    ref: `refs/heads/${branch}`,
    before: "0".repeat(40),
    after: commit,
    created: false,
    deleted: false,
    forced: false,
    repository: { full_name: "shop/shop" },
    pusher: { name: "ann" },
    head_commit: { id: commit, message: "a version" },
    commits: [{ id: commit, message: "a version", added: [], removed: [], modified: ["version.txt"] }],
  });
  const sentAt = elapsedMs();
  const answer = await request("POST", instance.front + hookPath, {
    body,
    headers: {
      "x-github-event": "push",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", hookSecret).update(body).digest("hex")}`,
    },
    limitMs: 15_000,
  });
  const { code, deliveryId, taskId, mergedIntoTaskId } = answer.json;
  return {
    projectId,
    ref: `refs/heads/${branch}`,
    commit,
    sentAt,
    endedAt: elapsedMs(),
    status: answer.status,
    code: String(code ?? answer.text.slice(0, 100)),
    deliveryId: typeof deliveryId === "number" && deliveryId > 0 ? deliveryId : null,
    taskId: Number(taskId ?? mergedIntoTaskId ?? 0) || null,
    isRecorded: false,
  };
}
