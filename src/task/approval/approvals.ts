import { Fault, messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Store } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { announceDecided } from "../events/announce-decided.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { type Answer, answerApproval, endApprovals } from "./answer-approval.ts";

/** Answers to tasks that wait for an approval. */
export interface Approvals {
  answer(answer: Omit<Answer, "consoleUrl">): Promise<Task>;
  start(): void;
  stop(): void;
}

const lookEveryMs = 5_000;

export function buildApprovals(parts: { store: Store; events: TaskEvents; log: Logger }): Approvals {
  const { store, events, log } = parts;
  let timer: ReturnType<typeof setInterval> | undefined;

  async function end(): Promise<void> {
    try {
      for (const ended of await store.run(endApprovals, { consoleUrl: events.consoleUrl() }))
        announceDecided(events, ended);
    } catch (error) {
      log.error({ error: messageOf(error) }, "requests for approval could not be looked at");
    }
  }

  return {
    async answer(answer) {
      const decided = await store.run(answerApproval, { ...answer, consoleUrl: events.consoleUrl() });
      announceDecided(events, decided);
      const { task } = decided;
      if (task.state === "waiting") throw new Fault("conflict", task.reason);
      return task;
    },
    start() {
      timer = setInterval(() => void end(), lookEveryMs);
    },
    stop: () => clearInterval(timer),
  };
}
