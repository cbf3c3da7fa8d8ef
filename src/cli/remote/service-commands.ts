import { type Command, InvalidArgumentError } from "commander";
import { Fault } from "../../errors.ts";
import type { OutputAnswer, ServiceAnswer } from "../../http/api/services.ts";
import type { TaskAnswer } from "../../http/api/task-shape.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { textValue } from "../option-values.ts";
import { print, printLogLine, table, visibleLines } from "../output.ts";
import { addServiceDataCommands } from "../service-data-commands.ts";
import { addRemote, apiRemote, projectPath, type Remote, type RemoteOptions } from "./remote.ts";
import { announce, type FollowOptions, followFlags, followHelp } from "./task-commands.ts";

interface LogsOptions extends FollowOptions {
  search?: string;
  lines: number;
}

/** As much as one answer of the API has. */
const maxLines = 2000;
const usualLines = 200;
const waitSeconds = 20;
const againMs = 3000;

const oneService = "may be omitted if the project has one service";

/** `service`: what runs of a project, its output, and start, stop and restart. */
export function addServiceCommands(program: Command): void {
  const service = program.command("service").description("services of a project: what runs, and its output");
  addRemote(service.command("list <project>"))
    .description("the services of the release that serves; a project is given by its id or its name")
    .action(listServices);
  const texts = {
    start: "start a service that is stopped or down",
    stop: "stop a service until a person or a deploy starts it; a deploy of the project that runs is canceled",
    restart: "end a service and start it again",
  };
  for (const action of ["start", "stop", "restart"] as const)
    addRemote(service.command(`${action} <project> [service]`))
      .description(`${texts[action]}; the name ${oneService}`)
      .option(followFlags, followHelp)
      .action(async (project: string, name: string | undefined, options: FollowOptions) => {
        const api = apiRemote(options);
        const path = await servicePath(api, project, name);
        await announce(await api.send<TaskAnswer>("POST", `${path}/${action}`), options);
      });
  addRemote(service.command("logs <project> [service]"))
    .description(`print the last lines of the output of a service; the name ${oneService}`)
    .option("-f, --follow", "keep printing what it writes, until Ctrl-C")
    .option("--search <text>", "only lines that contain this text", textValue)
    .option("--lines <number>", `how many lines, at most ${maxLines}`, linesValue, usualLines)
    .action(printOutput);
  addServiceDataCommands(service);
}

function linesValue(value: string): number {
  const lines = Number(value);
  if (Number.isInteger(lines) && lines >= 1 && lines <= maxLines) return lines;
  throw new InvalidArgumentError(`It must be a number from 1 to ${maxLines}.`);
}

async function servicesOf(api: Remote, project: string): Promise<{ services: ServiceAnswer[] }> {
  return api.get(`${await projectPath(api, project)}/services`);
}

async function listServices(project: string, options: RemoteOptions): Promise<void> {
  const list = await servicesOf(apiRemote(options), project);
  const rows = list.services.map((service) => ({
    ...service,
    commit: service.release && shortCommit(service.release.commit),
    megabytes: service.memoryBytes === null ? null : Math.ceil(service.memoryBytes / 1e6),
    cpu: service.cpu === null ? null : `${Math.round(service.cpu * 100)} %`,
    runner: service.runner.name,
    why: service.fault || (service.lastExit === null ? "" : `last exit: ${service.lastExit}`),
  }));
  print(options, list, () =>
    table(rows, [
      ...(["name", "state", "since", "commit", "restarts", "megabytes", "cpu", "port", "runner"] as const),
      "why",
    ]),
  );
}

/** The path of the API of a service, which need not be named if it is the only one. */
async function servicePath(api: Remote, project: string, name: string | undefined): Promise<string> {
  const path = await projectPath(api, project);
  if (name !== undefined) return `${path}/services/${encodeURIComponent(name)}`;
  const { services } = await api.get<{ services: ServiceAnswer[] }>(`${path}/services`);
  const [only, ...others] = services;
  if (!only) throw new Fault("not_found", `No release with services serves in project ${project}.`);
  if (others.length > 0) {
    const names = services.map((each) => each.name).join(", ");
    throw new Fault("invalid", `The project has several services; name one of them: ${names}.`);
  }
  return `${path}/services/${only.name}`;
}

async function printOutput(project: string, name: string | undefined, options: LogsOptions): Promise<void> {
  const api = apiRemote(options);
  const path = `${await servicePath(api, project, name)}/output`;
  const search = options.search === undefined ? {} : { search: options.search };
  const read = (query: Record<string, string>) =>
    api.get<OutputAnswer>(`${path}?${new URLSearchParams({ ...query, ...search })}`);
  const write = outputWriter(options);
  const last = await read({ direction: "backward", lines: String(options.lines) });
  write(last);
  // The last line is read again, because the line after it may have been incomplete.
  let position = last.lines.at(-1)?.position ?? (options.search === undefined ? last.from : last.to);
  let said = "";
  while (options.follow) {
    try {
      const part = await read({
        ...{ direction: "forward", position: String(position) },
        ...{ lines: String(maxLines), waitSeconds: String(waitSeconds) },
      });
      write(part);
      position = part.next;
      said = "";
    } catch (error) {
      if (!(error instanceof Fault && error.code === "unavailable")) throw error;
      // A runner or server that is restarted is waited for.
      if (error.message !== said) process.stderr.write(`${visibleLines(error.message)}\n`);
      said = error.message;
      await Bun.sleep(againMs);
    }
  }
}

/** Prints parts of the output: lines, which keep their colours, and before them what happened to the service; each once. */
function outputWriter(options: LogsOptions): (part: OutputAnswer) => void {
  let lastLine = -1;
  let lastMark = "";
  return ({ lines, marks }) => {
    const coming = marks.filter((mark) => markKey(mark) > lastMark);
    const writeMarks = (upTo: number) => {
      for (; (coming[0]?.position ?? Number.POSITIVE_INFINITY) <= upTo; coming.shift()) {
        const [mark] = coming;
        if (!mark) return;
        lastMark = markKey(mark);
        printLogLine(options, mark, () => markText(mark));
      }
    };
    for (const line of lines) {
      if (line.position <= lastLine) continue;
      writeMarks(line.position);
      lastLine = line.position;
      printLogLine(options, line, () => line.text);
    }
    // Of a search only what is before a line that was found.
    if (options.search === undefined) writeMarks(Number.MAX_SAFE_INTEGER);
  };
}

/** In the order of the output. */
function markKey({ position, at }: OutputAnswer["marks"][number]): string {
  return `${String(position).padStart(16, "0")} ${at}`;
}

function markText({ kind, at, taskId }: OutputAnswer["marks"][number]): string {
  if (kind === "cut") return `--- ${at}: a part is missing ---`;
  if (kind === "start") return `--- ${at}: started ---`;
  return `--- ${at}: release of task ${taskId} ---`;
}
