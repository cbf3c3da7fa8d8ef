import { eventually } from "./eventually.ts";

/** A service that answers with its commit, its process id and how often it was asked; it prints each request. */
export const service = `const { appendFileSync } = require("node:fs");
console.log("printed before listening");
if (process.env.LOG) appendFileSync(process.env.LOG, "written to the log file\\n");
let count = 0;
require("node:http")
  .createServer((request, response) => {
    count += 1;
    console.log("request", count);
    response.end(JSON.stringify({ commit: process.env.CI_COMMIT, pid: process.pid, count, secret: process.env.TOKEN }));
  })
  .listen(Number(process.env.LISTEN), "127.0.0.1");
`;

export interface ServiceAnswer {
  commit: string;
  pid: number;
  count: number;
  secret?: string;
}

export async function answerOf(port: number): Promise<ServiceAnswer> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    keepalive: false,
    headers: { connection: "close" },
  });
  return (await response.json()) as ServiceAnswer;
}

/** Ends the service on a port, if there is one, as the last act of a test. */
export async function endListeners(port: number): Promise<void> {
  const found = await answerOf(port).catch(() => null);
  if (found === null) return;
  process.kill(found.pid, "SIGKILL");
  await eventually(`port ${port} is free`, async () => (await answerOf(port).catch(() => null)) === null);
}

/** A project as far as these tests read it. */
export interface ProjectAnswer {
  liveTaskId: number | null;
  liveNote: string;
  homeRunnerId: number | null;
  warnings: string[];
  stages: Record<"build" | "deploy" | "start", { script: string; healthCheck?: unknown; previous?: string }>;
}

export interface ReleaseAnswer {
  taskId: number;
  commit: string;
  runnerId: number;
  isLive: boolean;
  isKept: boolean;
  bytes: number | null;
  endedAt: string | null;
}
