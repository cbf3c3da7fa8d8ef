import { newReason, type Reason } from "../../reason/reason.ts";
import type { Environment } from "./environment.ts";

/** What is wrong with the environments of a project, each of which is valid by itself. */
export function environmentFaults(
  environments: readonly Environment[],
): { field: string; message: Reason }[] {
  const names = environments.map(({ name }) => name);
  return environments.flatMap(({ name, from, refs }, index) => {
    const field = `environments.${index}`;
    if (names.indexOf(name) !== index)
      return [{ field: `${field}.name`, message: newReason("environment_repeated", { name }) }];
    if (from === null) return [];
    const known = names.filter((each) => each !== name).join(", ");
    if (from === name || !names.includes(from))
      return [{ field: `${field}.from`, message: newReason("environment_from", { known }) }];
    return refs.length === 0
      ? []
      : [{ field: `${field}.refs`, message: newReason("environment_from_refs", { from }) }];
  });
}
