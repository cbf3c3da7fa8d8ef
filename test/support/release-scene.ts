/** A service that answers with its commit, its process id and how often it was asked; it prints each request. */
export const service = `console.log("printed before listening");
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

/** A project as far as these tests read it. */
export interface ProjectAnswer {
  liveTaskId: number | null;
  liveNote: string;
  homeRunnerId: number | null;
  warnings: string[];
  services: { state: string; serving: number; total: number } | null;
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
