import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SlipwayPush } from "../client/slipway-push.ts";
import type { LiveMessage } from "../src/task/events/console-messages.ts";
import { eventually } from "../test/support/eventually.ts";
import { makeRepository } from "../test/support/git-repository.ts";
import { type ServerProcess, startServerProcess } from "../test/support/server-process.ts";
import { type Benchmark, digits, median } from "./benchmark.ts";

const deliveries = 20;
const seconds = 5;
const linesPerSecond = 10_000;

export const taskOverhead: Benchmark = {
  name: "task",
  title: "Tasks",
  method: `\`slipway start\` with its local runner, a repository on the same machine with a cached clone. ${deliveries} signed deliveries (debounce 0), one after the other: from the 202 to the time that the first command of the build script prints. Then a script that prints ${linesPerSecond.toLocaleString("en-US")} lines a second for ${seconds} s, each with the time it was printed, read by a live connection as the console opens it.`,
  async run(progress) {
    const dataDir = mkdtempSync(join(tmpdir(), "slipway-bench-"));
    const repository = await makeRepository();
    const commit = await repository.push({ "app.txt": "one\n" });
    const server = await startServerProcess(dataDir);
    try {
      const overheadMs = await measureDeliveries(server, repository.url, commit, progress);
      const log = await measureLog(server, repository.url, progress);
      return report(overheadMs, log);
    } finally {
      await server.end("SIGTERM");
      repository.remove();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

async function measureDeliveries(
  server: ServerProcess,
  repositoryUrl: string,
  commit: string,
  progress: (message: string) => void,
): Promise<number[]> {
  const projectId = await server.project(repositoryUrl, { build: "date +%s%3N" });
  const secret = "secret of the bench";
  const webhook = { enabled: true, secret, debounceSeconds: 0 };
  const path = `/api/projects/${projectId}/webhook`;
  const { url } = await server.admin.expect<{ url: string }>(200, "PUT", path, webhook);
  const body = {
    event: "push",
    ref: "refs/heads/main",
    refType: "branch",
    commit,
    message: "Change",
    author: "ann",
  };
  const overheadMs: number[] = [];
  for (let each = 0; each <= deliveries; each += 1) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-cicd-token": secret },
      body: JSON.stringify(body),
    });
    const acceptedAt = Date.now();
    const { taskId } = (await response.json()) as { taskId: number };
    await server.reach(taskId, "success");
    const line = (await server.log(taskId)).find(({ stage }) => stage === "build");
    // The first one clones.
    if (each > 0) overheadMs.push(Number(line?.text) - acceptedAt);
  }
  progress(`${deliveries} deliveries`);
  return overheadMs;
}

interface LogFigures {
  lines: number;
  isInOrder: boolean;
  lagsMs: number[];
  tookSeconds: number;
}

const printer = `
let printed = 0;
const begun = Date.now();
while (printed < ${seconds * linesPerSecond}) {
  const due = Math.min(${seconds * linesPerSecond}, ((Date.now() - begun) * ${linesPerSecond}) / 1000);
  let text = "";
  for (; printed < due; printed += 1) text += printed + " " + Date.now() + " a line as a build prints it\\n";
  if (text) await Bun.write(Bun.stdout, text);
  await Bun.sleep(5);
}
`;

async function measureLog(
  server: ServerProcess,
  repositoryUrl: string,
  progress: (message: string) => void,
): Promise<LogFigures> {
  const script = `while [ ! -f "$GO" ]; do sleep 0.05; done; "$BUN" -e '${printer}'`;
  const go = join(mkdtempSync(join(tmpdir(), "slipway-go-")), "go");
  const env = { GO: go, BUN: process.execPath };
  const projectId = await server.project(repositoryUrl, { build: script }, { env });
  const { id } = await server.run(projectId);
  const seen: { number: number; lagMs: number }[] = [];
  const live = new SlipwayPush({
    url: `${server.url}/ws`,
    temporary: true,
    code: async () =>
      (await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" })).code,
  });
  live.on("message", ({ data }) => {
    const message = JSON.parse(data) as LiveMessage;
    if (message.type !== "log") return;
    const now = Date.now();
    for (const { stage, text } of message.lines) {
      const [number, at] = text.split(" ").map(Number);
      if (stage === "build") seen.push({ number: number ?? -1, lagMs: now - (at ?? 0) });
    }
  });
  let isJoined = false;
  live.on("joined", () => {
    isJoined = true;
  });
  live.on("open", () => live.join(`private-project-${projectId}/task-${id}`));
  live.open();
  await eventually("the log is followed", () => isJoined);
  await Bun.write(go, "");
  const begunAt = Date.now();
  await eventually("every line arrived", () => seen.length >= seconds * linesPerSecond);
  const tookSeconds = (Date.now() - begunAt) / 1000;
  live.close();
  progress(`${seen.length} log lines`);
  return {
    lines: seen.length,
    isInOrder: seen.every(({ number }, index) => number === index),
    lagsMs: seen.map(({ lagMs }) => lagMs),
    tookSeconds,
  };
}

function report(overheadMs: number[], log: LogFigures) {
  const worst = Math.max(...overheadMs);
  const sorted = log.lagsMs.toSorted((a, b) => a - b);
  const lagAt = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    figures: [
      {
        name: "accepted delivery to first script line",
        measured: `${digits(median(overheadMs))} ms, worst ${digits(worst)} ms`,
        toReach: "< 300 ms with a cached clone",
        isReached: median(overheadMs) < 300,
      },
      {
        name: "log lines to a browser",
        measured: `${log.lines.toLocaleString("en-US")} in ${digits(log.tookSeconds)} s, ${log.isInOrder ? "in order" : "out of order"}`,
        toReach: `${linesPerSecond.toLocaleString("en-US")} a second, in order`,
        // Half a second for the start of the printing program.
        isReached: log.isInOrder && log.tookSeconds < seconds + 0.5 + lagAt(0.99) / 1000,
      },
    ],
    tables: [
      {
        title: "From print to browser",
        head: ["median", "99 %", "worst"],
        rows: [[0.5, 0.99, 1].map((share) => `${lagAt(share)} ms`)],
      },
    ],
    plots: [],
  };
}
