import { Fault } from "../../../errors.ts";
import type { FileFault } from "../../../model/pipeline-file/file-fault.ts";
import type { ReadFields } from "../../../model/pipeline-file/read-fields.ts";
import { newReason } from "../../../reason/reason.ts";
import { print } from "../../output.ts";
import { textOfFile, wrongFile } from "../file-faults.ts";
import { apiRemote, projectNamed, projectPath, type Remote, type RemoteOptions } from "../remote.ts";
import { differenceText } from "./difference.ts";
import { type Plan, planOf } from "./plan.ts";
import { type ProjectFile, readProjectFile } from "./schema.ts";
import { atPlace, sendSteps } from "./send-steps.ts";
import { type ProjectState, readState } from "./settings.ts";
import { buildShell } from "./shell.ts";

export type ApplyOptions = RemoteOptions & {
  file: string;
  project?: string;
  dryRun?: boolean;
  /** True: all of them. */
  secrets?: true | string[];
};

type ReadFile = ReadFields<ProjectFile>;

/** Makes a project as the file says. Nothing is sent before everything that can be known of it is right. */
export async function applyProjectFile(options: ApplyOptions): Promise<void> {
  const text = textOfFile(options.file);
  const right = (read: ReadFile | FileFault[]) => {
    if (Array.isArray(read)) throw wrongFile(options.file, read, options);
    return read;
  };
  const read = right(readProjectFile(text));
  const api = apiRemote(options);
  const path = await pathOf(api, read, options);
  const file = path === null ? right(readProjectFile(text, { create: true })) : read;
  const state = path === null ? null : await readState(api, path);
  const { differences, steps } = planned(file, state, options);
  const name = state?.project.name ?? file.fields.name;
  const isDryRun = options.dryRun ?? false;
  const result = { id: state?.project.id ?? null, dryRun: isDryRun, differences };
  if (steps.length === 0) return print(options, result, () => `Project ${name}: no change.`);
  const title = state === null ? `New project ${name}:` : `Project ${name}, id ${state.project.id}:`;
  const shown = [title, ...differences.map(differenceText)].join("\n");
  if (isDryRun) return print(options, result, () => `${shown}\nNothing was sent: this is a dry run.`);
  if (!options.json) print(options, result, () => shown);
  const sent = await sendSteps(api, path, steps, { faultAt: file.faultAt, name: options.file });
  const done = state === null ? `Created project ${name} with id ${sent.id}.` : `Changed project ${name}.`;
  // What is pasted at the Git host next.
  const isNewHook = sent.webhookUrl !== null && (state?.webhook.url ?? null) === null;
  const hook = isNewHook ? [`Address of its webhook: ${sent.webhookUrl}`] : [];
  print(options, { ...result, ...sent }, () =>
    [...sent.warnings.map((warning) => `Warning: ${warning}`), done, ...hook].join("\n"),
  );
}

/** Null: the file is that of a new project. */
async function pathOf(
  api: Remote,
  { fields, faultAt }: ReadFile,
  options: ApplyOptions,
): Promise<string | null> {
  if (options.project !== undefined) return projectPath(api, options.project);
  if (fields.name === undefined)
    throw wrongFile(options.file, [faultAt(["name"], newReason("required"))], options);
  return projectNamed(api, fields.name);
}

function planned({ fields, faultAt }: ReadFile, state: ProjectState | null, options: ApplyOptions): Plan {
  const shell = buildShell(process.env, options.secrets ?? [], faultAt);
  let plan: Plan;
  try {
    plan = planOf(fields, state, shell);
  } catch (error) {
    throw atPlace(error, [], { faultAt, name: options.file });
  }
  if (shell.faults.length > 0) throw wrongFile(options.file, shell.faults, options);
  const [unknown] = shell.unknown();
  if (unknown === undefined) return plan;
  throw new Fault(
    "invalid",
    `--secrets: no secret of ${options.file} is from the shell variable ${unknown}.`,
  );
}
