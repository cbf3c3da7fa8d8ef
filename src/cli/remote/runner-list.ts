import type { Command } from "commander";
import type { RunnerAnswer } from "../../http/api/runners.ts";
import type { Page } from "../../model/page.ts";
import { print, table } from "../output.ts";
import { addRemote, apiRemote, type RemoteOptions, segment } from "./remote.ts";

/** `runner list` and `runner show`: the runners of a server. */
export function addRunnerList(runner: Command): void {
  addRemote(runner.command("list"))
    .description("registered runners: whether they are connected, and how their scripts are isolated")
    .action(async (options: RemoteOptions) => {
      const runners = await apiRemote(options).get<Page<RunnerAnswer>>("/api/runners?pageSize=200");
      const rows = runners.items.map((runner) => ({ ...rowOf(runner), note: runner.isolationNote }));
      print(options, runners, () => table(rows, ["id", "name", "state", "isolation", "version", "note"]));
    });
  addRemote(runner.command("show <runnerId>"))
    .description("one runner: its isolation and its proxy for routes, and how it gets what it lacks")
    .action(async (runnerId: string, options: RemoteOptions) => {
      const runner = await apiRemote(options).get<RunnerAnswer>(`/api/runners/${segment(runnerId)}`);
      print(options, runner, () => textOf(runner));
    });
}

function rowOf({ id, name, disabled, online, isolation, version, lastSeenAt }: RunnerAnswer) {
  const hasConnected = lastSeenAt !== null;
  const state = disabled ? "disabled" : online ? "online" : hasConnected ? "offline" : "never connected";
  return { id, name, state, isolation: hasConnected ? isolation : "unknown", version };
}

function textOf(runner: RunnerAnswer): string {
  const { name, state, isolation, version } = rowOf(runner);
  const lines = [
    `Runner ${runner.id} (${name}) is ${state}; version ${version || "unknown"}, ${runner.concurrency} tasks at once.`,
    `Labels: ${runner.labels.join(", ") || "none"}.`,
    runner.lastSeenAt === null || isolation === runner.reportedIsolation
      ? `Isolation: ${isolation}.`
      : `Isolation: ${isolation}; it reports ${runner.reportedIsolation}, which is not confirmed.`,
  ];
  if (runner.isolationNote !== "") lines.push(`No sandbox: ${runner.isolationNote}.`);
  const note = runner.proxyNote;
  if (runner.proxy !== null)
    lines.push(`Proxy for routes: ${runner.proxy}${note === "" ? "" : `; ${note}`}.`);
  else if (note !== "") lines.push(`No proxy for routes: ${note}.`);
  return lines.join("\n");
}
