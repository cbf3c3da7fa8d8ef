import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { Fault, messageOf } from "../../errors.ts";
import type { Page } from "../../model/page.ts";
import { idValue, projectOrNoneValue, textValue } from "../option-values.ts";
import { print, type Row, table, visible } from "../output.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions, segment } from "./remote.ts";

interface TraceStep extends Row {
  step: string;
}

interface DeliveryAnswer {
  deliveryId?: number;
  status?: string;
  reason?: string;
  message?: string;
  decision?: { status: string; code: string; reason: string };
  trace?: TraceStep[];
}

/** `hook`: deliveries of Git hosts, from a shell. */
export function addHookCommands(program: Command): void {
  const hook = program.command("hook").description("webhook deliveries");
  addFilters(addRemote(hook.command("list")))
    .description("deliveries, newest first")
    .option("--page <number>", "page, from 1", "1")
    .option("--page-size <number>", "deliveries on a page, at most 200", "20")
    .action(listDeliveries);
  addRemote(hook.command("show <deliveryId>"))
    .description("one delivery: its outcome and the steps of the decision")
    .action(showDelivery);
  addRemote(hook.command("poll <project>"))
    .description("when the repository was asked for missed pushes, and what came of it")
    .action(showPoll);
  addRemote(hook.command("test <project>"))
    .description("send a sample delivery; without --real it only shows the decision, step by step")
    .option("--real", "record it and create a task")
    .option("--event <event>", "push, tag or merge_request")
    .option("--ref <ref>", "branch or tag")
    .option("--commit <sha>", "commit")
    .option("--message <text>", "commit message")
    .option("--author <name>", "who pushed")
    .option("--path <path...>", "changed files")
    .option("--payload <file>", "a host's JSON body instead of the fields above")
    .option("--header <header...>", 'its headers, such as "X-GitHub-Event: push"')
    .action(testHook);
  addFilters(addRemote(hook.command("replay [deliveryId]")))
    .description(
      "trigger again from a stored delivery, or from those that the filters find: of each ref the latest",
    )
    .option("--force", "one delivery: also when its signature had failed")
    .option("--yes", "filters: replay them; without it they are only shown")
    .action(replay);
}

interface PollState {
  everyMinutes: number;
  lastAt: string | null;
  nextAt: string | null;
  error: string;
  note: string;
}

async function showPoll(project: string, options: RemoteOptions): Promise<void> {
  const api = apiRemote(options);
  const path = `${await projectPath(api, project)}/webhook`;
  const { poll } = await api.get<{ poll?: PollState | null }>(path);
  print(options, poll ?? null, () => {
    if (!poll) return "not polled: webhook.reconcileMinutes is 0, or the webhook is not enabled";
    const lines = [
      `last: ${poll.lastAt ?? "not yet"}`,
      `next: ${poll.nextAt ?? "at once"}, every ${poll.everyMinutes} minutes`,
    ];
    if (poll.error !== "") lines.push(`error: ${visible(poll.error)}`);
    if (poll.note !== "") lines.push(`note: ${visible(poll.note)}`);
    return lines.join("\n");
  });
}

interface Filters {
  project?: number;
  group?: number;
  status?: string;
  code?: string;
  from?: string;
  to?: string;
  search?: string;
}

function addFilters(command: Command): Command {
  return command
    .option("--project <id>", "of one project; 0: of unknown addresses, for admins", projectOrNoneValue)
    .option("--group <id>", "of the projects of a group", idValue)
    .option("--status <status>", "accepted, merged, ignored, rejected or failed", textValue)
    .option("--code <code>", "such as branch_not_matched", textValue)
    .option("--from <time>", "since then, such as 2026-01-31T09:30:00Z", textValue)
    .option("--to <time>", "before then", textValue)
    .option(
      "--search <text>",
      "a ref or the host's delivery id, exactly; a commit, also shortened",
      textValue,
    );
}

function filterOf({
  project,
  group,
  status,
  code,
  from,
  to,
  search,
}: Filters): Record<string, string | number> {
  const named = { projectId: project, groupId: group, status, code, from, to, search };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Lists count their total up to this number. */
const totalCap = 10_000;

async function listDeliveries(
  options: RemoteOptions & Filters & { page: string; pageSize: string },
): Promise<void> {
  const { page, pageSize } = options;
  const filter = Object.entries(filterOf(options)).map(([name, value]) => [name, String(value)]);
  const query = new URLSearchParams({ ...Object.fromEntries(filter), page, pageSize });
  const list = await apiRemote(options).get<Page<Row>>(`/api/webhooks/deliveries?${query}`);
  const columns = ["id", "created_at", "project_name", "event", "ref", "status", "task_id", "reason"];
  const rows: Row[] = list.items.map((item) => ({
    ...item,
    status: Number(item.count) > 1 ? `${item.status} ×${item.count}` : item.status,
  }));
  const isCapped = list.total >= totalCap;
  const pages = Math.max(1, Math.ceil(list.total / list.pageSize));
  const more =
    pages > 1 ? `\npage ${list.page} of ${pages}, ${list.total}${isCapped ? " or more" : ""} deliveries` : "";
  print(options, list, () => table(rows, columns) + more);
}

const shownFields = [
  ...["created_at", "project_name", "provider", "event", "ref", "commit", "commit_message", "author"],
  ...[
    "remote_ip",
    "host_delivery_id",
    "repeat_of",
    "replay_of",
    "task_id",
    "merged_into_task_id",
    "replaced_by",
  ],
];

async function showDelivery(deliveryId: string, options: RemoteOptions): Promise<void> {
  const path = `/api/webhooks/deliveries/${segment(deliveryId)}`;
  const delivery = await apiRemote(options).get<Row & { trace: TraceStep[]; replays: Row[] }>(path);
  const replays = delivery.replays.map(({ id, status }) => `${id} (${visible(status)})`).join(", ");
  const known = shownFields.filter((name) => delivery[name]);
  print(options, delivery, () =>
    [
      ...known.map((name) => `${name.padEnd(21)}${visible(delivery[name])}`),
      ...(replays === "" ? [] : [`${"replays".padEnd(21)}${replays}`]),
      "",
      traceTable(delivery.trace),
      outcomeText(delivery),
    ].join("\n"),
  );
}

interface TestOptions {
  real?: boolean;
  event?: string;
  ref?: string;
  commit?: string;
  message?: string;
  author?: string;
  path?: string[];
  payload?: string;
  header?: string[];
}

async function testHook(project: string, options: RemoteOptions & TestOptions): Promise<void> {
  const { real, event, ref, commit, message, author, path: paths, payload, header } = options;
  const body = {
    dryRun: !real,
    ...{ event, ref, commit, message, author, paths },
    ...(payload === undefined ? {} : { payload: payloadOf(payload) }),
    ...(header === undefined ? {} : { headers: Object.fromEntries(header.map(headerOf)) }),
  };
  const api = apiRemote(options);
  const url = `${await projectPath(api, project)}/webhook/test`;
  const answer = await api.send<DeliveryAnswer>("POST", url, body);
  print(options, answer, () => described(answer));
}

function payloadOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Fault("invalid", `The payload ${file} cannot be read as JSON: ${messageOf(error)}`);
  }
}

function headerOf(line: string): [string, string] {
  const [, name, value] = /^([^:]+):(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw new Fault("invalid", `The header ${line} has no value; write it as "X-GitHub-Event: push".`);
  return [name.trim(), value.trim()];
}

type ReplayOptions = RemoteOptions & Filters & { force?: boolean; yes?: boolean };

async function replay(deliveryId: string | undefined, options: ReplayOptions): Promise<void> {
  const filter = filterOf(options);
  const isFiltered = Object.keys(filter).length > 0;
  if ((deliveryId !== undefined) === isFiltered)
    throw new Fault("invalid", "Name one delivery by its id, or several by filters such as --status failed.");
  if (deliveryId === undefined && options.force)
    throw new Fault(
      "invalid",
      "--force needs the id of one delivery: check each delivery before you force it.",
    );
  if (deliveryId === undefined) return replayMany(filter, options);
  const body = options.force ? { force: true } : {};
  const url = `/api/webhooks/deliveries/${segment(deliveryId)}/replay`;
  const answer = await apiRemote(options).send<DeliveryAnswer>("POST", url, body);
  print(options, answer, () => described(answer));
}

interface BulkReplay {
  message: string;
  next: string | null;
  items: { delivery: Row; response: { status: string; reason: string } | null; problem: string | null }[];
}

/** A preview shows the first hundred; a replay continues until no delivery is left. */
async function replayMany(filter: Record<string, string | number>, options: ReplayOptions): Promise<void> {
  const api = apiRemote(options);
  let after: string | null = null;
  let failed = 0;
  do {
    const body = { filter, preview: !options.yes, after };
    const bulk: BulkReplay = await api.send("POST", "/api/webhooks/deliveries/replay", body);
    const rows: Row[] = bulk.items.map(({ delivery, response, problem }) => ({
      ...delivery,
      outcome: response ? `${response.status}: ${response.reason}` : (problem ?? "would be replayed"),
    }));
    print(
      options,
      bulk,
      () => `${table(rows, ["id", "project_name", "ref", "commit", "outcome"])}\n${bulk.message}`,
    );
    if (!options.yes && !options.json && rows.length > 0)
      process.stdout.write("Nothing was replayed: add --yes to do it.\n");
    failed += bulk.items.filter(({ problem }) => problem !== null).length;
    after = bulk.next;
  } while (options.yes && after !== null);
  if (options.yes && failed > 0)
    throw new Fault("conflict", `${failed} could not be replayed; their outcomes above say why.`);
}

function traceTable(trace: TraceStep[]): string {
  return table(trace, ["step", "result", "value", "pattern", "detail"]);
}

/** `ignored (skip_keyword): …`; a code equal to the status is left out. */
function outcomeText({ status, code, reason }: Row): string {
  return `${status}${code === status ? "" : ` (${code})`}: ${visible(reason)}`;
}

function described(answer: DeliveryAnswer): string {
  const { decision, trace } = answer;
  const outcome = decision
    ? `would be ${outcomeText(decision)}`
    : `delivery ${answer.deliveryId} ${answer.status}: ${visible(answer.message ?? answer.reason)}`;
  return trace ? `${traceTable(trace)}\n${outcome}` : outcome;
}
