import { type RunTask, runnerFeatures } from "../../src/runner/protocol.ts";
import type { ApiClient } from "./api-server.ts";

/** A runner for tests of the protocol: it makes only the calls of the test. */
export interface ProtocolRunner {
  id: number;
  token: string;
  /** One claim; null when the server has no work for it within its wait. */
  claim(signal?: AbortSignal): Promise<RunTask | null>;
  /** A call that is not about a task. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
  call(
    name: "beat" | "log" | "stage" | "pipeline" | "rollback" | "finish",
    held: Pick<RunTask, "taskId" | "attempt" | "lease">,
    more: Record<string, unknown>,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
}

export interface RegisterOptions {
  name: string;
  labels?: string[];
  concurrency?: number;
  alsoUnlabelled?: boolean;
  groupIds?: number[];
  trustedIsolation?: string;
  /** Those of every runner unless given. */
  features?: string[];
  /** Further fields of its claims. */
  reports?: Record<string, unknown>;
}

export async function registerRunner(
  url: string,
  admin: ApiClient,
  options: RegisterOptions,
): Promise<ProtocolRunner> {
  const { labels = [], concurrency = 1, features = runnerFeatures, reports = {}, ...registration } = options;
  const { id, token } = await admin.expect<{ id: number; token: string }>(201, "POST", "/api/runners", {
    labels,
    ...registration,
  });
  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(`${url}/api/runner/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  return {
    id,
    token,
    post,
    async claim(signal) {
      const response = await post(
        "claim",
        { labels, concurrency, version: "test", features, ...reports },
        signal,
      );
      if (response.status === 204) return null;
      if (response.status !== 200)
        throw new Error(`claim answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as RunTask;
    },
    async call(path, { taskId, attempt, lease }, more) {
      const response = await post(path, { taskId, attempt, lease, ...more });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}
