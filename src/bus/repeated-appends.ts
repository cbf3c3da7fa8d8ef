import { BoundedMap } from "../bounded-map.ts";
import { isObject } from "../json.ts";

/** Limit of remembered processes. Above it the oldest is dropped. */
const maxProcesses = 10_000;

/**
 * Recognises a record that its process appended a second time, because the confirmation of the first was lost. The ids of
 * a process are a prefix and a number that counts upwards, and it appends in that order: a record that does not count
 * upwards is a repeat.
 */
export class RepeatedAppends {
  readonly #processes = new BoundedMap<string, { highest: number }>(maxProcesses);

  /** Call once for each record, in order. */
  isRepeat(value: unknown): boolean {
    // Other services name no node.
    if (!isObject(value) || !value.node || typeof value.id !== "string") return false;
    const dash = value.id.lastIndexOf("-");
    const prefix = value.id.slice(0, dash);
    const count = Number.parseInt(value.id.slice(dash + 1), 36);
    const process = this.#processes.get(prefix);
    if (!process) this.#processes.set(prefix, { highest: count });
    else if (count <= process.highest) return true;
    else process.highest = count;
    return false;
  }
}
