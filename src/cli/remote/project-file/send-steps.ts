import { Fault } from "../../../errors.ts";
import type { ReadFields } from "../../../model/pipeline-file/read-fields.ts";
import { renderReason } from "../../../reason/reason.ts";
import { faultLines } from "../file-faults.ts";
import type { Remote } from "../remote.ts";
import { environmentPaths } from "./settings.ts";
import type { Step } from "./step.ts";

/** The file that steps come from, for what the server refuses of it. */
interface SourceFile extends Pick<ReadFields<unknown>, "faultAt"> {
  name: string;
}

interface Answer {
  id?: number;
  warnings?: string[];
  /** Of a webhook: where it receives deliveries. */
  url?: string | null;
}

interface Sent {
  id: number;
  warnings: string[];
  webhookUrl: string | null;
}

/** Makes the calls one after the other; `path` is null for a new project. If one fails, a second apply finds what is left. */
export async function sendSteps(
  api: Remote,
  path: string | null,
  steps: readonly Step[],
  file: SourceFile,
): Promise<Sent> {
  const warnings = new Set<string>();
  let webhookUrl: string | null = null;
  let base = path ?? "/api/projects";
  let places: Map<string, string> | null = null;
  for (const [index, { method, path: below, environment, body, revision, field }] of steps.entries()) {
    const headers = revision === undefined ? {} : { "if-match": `"${revision}"` };
    try {
      // The settings come before, so that a new environment is there.
      if (environment !== undefined) places ??= await environmentPaths(api, base);
      const place = environment === undefined ? base : places?.get(environment);
      const answer = await api.send<Answer | undefined>(method, `${place}${below}`, body, headers);
      if (below === "/webhook") webhookUrl = answer?.url ?? null;
      if (method === "POST") base = `/api/projects/${answer?.id}`;
      // What a new project is warned of is its webhook, which comes last.
      else for (const warning of answer?.warnings ?? []) warnings.add(warning);
    } catch (error) {
      throw interrupted(atPlace(error, field, file), steps, index);
    }
  }
  return { id: Number(base.split("/").at(-1)), warnings: [...warnings], webhookUrl };
}

/** A fault about fields of a body, with their places in the file. `field`: where the file has the body. */
export function atPlace(error: unknown, field: readonly string[], { faultAt, name }: SourceFile): unknown {
  if (!(error instanceof Fault) || !error.fields) return error;
  const faults = error.fields.map((each) => faultAt([...field, ...each.field.split(".")], each.message));
  return new Fault(error.code, faultLines(name, faults), { cause: error });
}

function interrupted(error: unknown, steps: readonly Step[], index: number): unknown {
  if (!(error instanceof Fault) || index === 0) return error;
  const titles = steps.map(({ what }) => what);
  const sent = titles.slice(0, index).join(", ");
  const left = titles.slice(index).join(", ");
  const message = `${renderReason(error.reason)}\nSent before: ${sent}. Not sent: ${left}. Apply the file again to send the rest.`;
  return new Fault(error.code, message, { cause: error });
}
