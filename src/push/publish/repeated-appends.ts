import { BoundedMap } from "../../bounded-map.ts";
import { idPrefixOf } from "../message/ids.ts";

/** Processes that write at the same time; the one that wrote longest ago is forgotten first. */
const maxProcesses = 10_000;

/**
 * Recognises a record that its process appended a second time, because the confirmation of the first was lost. The ids of
 * a process count upwards, and it appends in that order: a record that does not count upwards is a repeat.
 */
export class RepeatedAppends {
  readonly #processes = new BoundedMap<string, { highest: number }>(maxProcesses);

  /** `id` is one that `idGenerator` made. Call once for each record, in order. */
  isRepeated(id: string): boolean {
    const prefix = idPrefixOf(id);
    const count = Number.parseInt(id.slice(prefix.length + 1), 36);
    const process = this.#processes.get(prefix);
    if (!process) this.#processes.set(prefix, { highest: count });
    else if (count <= process.highest) return true;
    else process.highest = count;
    return false;
  }
}
