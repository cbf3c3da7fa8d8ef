import type { z } from "zod";
import type { FileFault } from "../../../model/pipeline-file/file-fault.ts";
import type { ReadFields } from "../../../model/pipeline-file/read-fields.ts";
import { renderReason } from "../../../reason/reason.ts";
import { fieldMessage, schemaFaults } from "../../../reason/schema-faults.ts";

export type Path = readonly PropertyKey[];

/** How differences show a secret: one that is stored at the server, and one that is sent from a shell variable. */
export const stored = "(stored)";
export const shownAs = (from: string) => `$${from}`;

/** The shell variables that a file names for its secrets. What is wrong with them is collected, and nothing is sent. */
export interface Shell {
  faults: FileFault[];
  /** Of those that were asked to be sent again, the ones that no secret of the file has. */
  unknown(): string[];
  /** The value that must be sent; undefined: the stored one stays, or it is a fault. */
  secret(path: Path, from: string, isStored: boolean, rule: z.ZodType): string | undefined;
  /** The value if the variable is set. */
  given(path: Path, from: string, rule: z.ZodType): string | undefined;
  isSentAgain(from: string): boolean;
}

/** `again`: the variables whose secrets are sent although the server has one; true: all of them. */
export function buildShell(
  env: Readonly<Record<string, string | undefined>>,
  again: true | readonly string[],
  faultAt: ReadFields<unknown>["faultAt"],
): Shell {
  const faults: FileFault[] = [];
  const named = new Set<string>();
  const isSentAgain = (from: string) => again === true || again.includes(from);
  const given = (path: Path, from: string, rule: z.ZodType) => {
    named.add(from);
    const value = env[from];
    if (value === undefined || value === "") return undefined;
    const { error } = rule.safeParse(value, { error: fieldMessage });
    for (const { message } of schemaFaults(error?.issues ?? []).slice(0, 1))
      faults.push(
        faultAt(path, `has a wrong value in the shell variable ${from}: it ${renderReason(message)}`),
      );
    return value;
  };
  return {
    faults,
    isSentAgain,
    given,
    unknown: () => (again === true ? [] : again.filter((name) => !named.has(name))),
    secret(path, from, isStored, rule) {
      named.add(from);
      if (isStored && !isSentAgain(from)) return undefined;
      const value = given(path, from, rule);
      if (value === undefined)
        faults.push(faultAt(path, `needs the shell variable ${from}, which is not set or empty`));
      return value;
    },
  };
}
