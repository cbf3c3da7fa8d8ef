import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { type ScriptLine, scriptEvents } from "../reconciler/history.ts";
import { until } from "../setups/part.ts";

/** The file to which scripts and services append a line for each step. */
export class ScriptRecord {
  readonly file: string;
  /** Bytes that belong to earlier rounds. */
  #earlier = 0;
  /** Bytes that were read in this round. */
  #read = 0;

  constructor(file: string) {
    this.file = file;
  }

  /** The lines of this round. */
  lines(): ScriptLine[] {
    this.#read = this.#size();
    return this.#between(this.#earlier, this.#read);
  }

  #between(from: number, to: number): ScriptLine[] {
    if (!existsSync(this.file)) return [];
    const text = readFileSync(this.file).subarray(from, to).toString();
    return text.split("\n").flatMap((line) => {
      const [name, projectId, taskId, attempt, stage = "", commit = "", rollback] = line.split(" ");
      const event = scriptEvents.find((each) => each === name);
      if (event === undefined) return [];
      const numbers = { projectId: Number(projectId), taskId: Number(taskId), attempt: Number(attempt) };
      return [{ event, ...numbers, stage, commit, isRollback: rollback === "true" }];
    });
  }

  /** Writes that the suite is about to approve a task. */
  approving(projectId: number, taskId: number): void {
    appendFileSync(this.file, `approved ${projectId} ${taskId} 0 approval - false\n`);
  }

  /** Waits for a line that is written from now on. */
  async next(isWanted: (line: ScriptLine) => boolean, limitMs: number): Promise<boolean> {
    const from = this.#size();
    return until(() => this.#between(from, this.#size()).some(isWanted), limitMs, 15);
  }

  /** Lines that were not read yet belong to the next round. */
  endRound(): void {
    this.#earlier = this.#read;
  }

  #size(): number {
    return existsSync(this.file) ? readFileSync(this.file).length : 0;
  }
}
