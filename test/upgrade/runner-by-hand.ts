import { join } from "node:path";
import { commit } from "./recorded-hosts.ts";

type Json = Record<string, unknown>;

interface HeldTask {
  taskId: number;
  attempt: number;
  lease: string;
}

/** What the recorded runner can do. */
export const recordedFeatures = ["releases", "approvals", "deploy-secrets", "lfs"];

/** The runner protocol of the recorded program, by hand. */
export function runnerByHand(url: string, token: string) {
  const post = (path: string, body: unknown) =>
    fetch(join(url, "api/runner", path).replace(":/", "://"), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const call = async (name: string, { taskId, attempt, lease }: HeldTask, more: Json) => {
    const response = await post(name, { taskId, attempt, lease, ...more });
    if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
  };
  const lines = (held: HeldTask, texts: string[]) =>
    call("log", held, {
      from: 0,
      lines: texts.map((text) => ({ stage: "build", at: new Date().toISOString(), text })),
    });
  return {
    call,
    lines,
    async claim(): Promise<HeldTask> {
      const response = await post("claim", {
        labels: [],
        concurrency: 8,
        version: "0.1.0",
        features: recordedFeatures,
      });
      if (response.status !== 200) throw new Error(`claim: ${response.status} ${await response.text()}`);
      return (await response.json()) as HeldTask;
    },
    async stages(held: HeldTask): Promise<void> {
      const stage = (name: string, state: string, exitCode: number | null, more: Json = {}) =>
        call("stage", held, { stage: name, state, exitCode, ...more });
      await stage("checkout", "running", null);
      await stage("checkout", "success", 0, { commit: commit("checked out"), message: "A commit" });
      await stage("build", "running", null);
      await lines(held, ["building", "\u001b[32mgreen\u001b[0m done", "***"]);
      await stage("build", "success", 0);
    },
  };
}
