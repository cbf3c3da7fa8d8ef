import { Fault } from "../../errors.ts";
import type { Runner } from "../../model/runner.ts";
import { stateAt } from "../../model/service/running-service.ts";
import type { Store } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import {
  claimWaitMs,
  type OutputTextRequest,
  outputTextRequest,
  type WantedAnswer,
  type WantedOutput,
  type WantedTransfer,
  wantedOutput,
} from "../../runner/protocol.ts";
import { randomToken } from "../../secrets.ts";
import type { Wakeups } from "../events/wakeups.ts";

export type OutputQuery = Omit<WantedOutput, "id" | "projectId" | "name">;
export type OutputText = Omit<OutputTextRequest, "id">;

export interface WantedOutputParts {
  store: Store;
  wakeups: Wakeups;
  /** What a runner is asked to send to others. */
  takeTransfers(runnerId: number): Promise<WantedTransfer[]>;
}

/** As many as one answer to a runner may name. */
const maxPerRunner = 100;
/** How long a runner may need, besides the wait for new output. */
const answerWithinMs = 10_000;
/** Another instance notifies this one of nothing, so that those who wait read the database this often. */
const lookEveryMs = 500;
const keyBytes = 18;

/** A runner has something to send. */
export const runnerTopic = (runnerId: number) => `output of runner ${runnerId}`;
const readTopic = (key: string) => `output ${key}`;

/** Output of services that people read: the runner has it, and uploads the parts that its long call is answered with. */
export function buildWantedOutput({ store, wakeups, takeTransfers }: WantedOutputParts) {
  const closing = new AbortController();
  const betweenLooksMs = store.isShared ? lookEveryMs : claimWaitMs;

  async function answerTo(key: string, waitMs: number, signal: AbortSignal): Promise<string | null> {
    const stop = AbortSignal.any([signal, closing.signal]);
    const endsAt = performance.now() + waitMs;
    for (;;) {
      const leftMs = endsAt - performance.now();
      // Subscribes before it reads, so that no answer in between is missed.
      const woken = wakeups.wait(readTopic(key), Math.min(Math.max(leftMs, 0), betweenLooksMs), stop);
      const answer = await store.outputReads.answerOf(key);
      if (answer !== null || leftMs <= 0 || stop.aborted) return answer;
      await woken;
    }
  }

  return {
    /** Throws Fault "unavailable" if the runner is away or does not answer. */
    async read(
      projectId: number,
      name: string,
      query: OutputQuery,
      signal: AbortSignal,
    ): Promise<OutputText> {
      const services = await store.services.ofProject(projectId);
      const service = services.find((each) => each.name === name);
      if (!service) throw new Fault("not_found", newReason("no_service", { name }));
      const runner = (await store.runners.byId(service.runnerId))?.name ?? String(service.runnerId);
      if (stateAt(service, store.now()) === "unknown") throw away(runner);
      const key = randomToken(keyBytes);
      const wanted: WantedOutput = { id: key, projectId, name, ...query };
      const { runnerId } = service;
      const read = { key, runnerId, wanted: JSON.stringify(wanted), createdAt: store.now() };
      if (!(await store.outputReads.add(read, maxPerRunner)))
        throw new Fault("too_many", newReason("output_readers", { runner }), { retryAfterSeconds: 5 });
      try {
        wakeups.notify(runnerTopic(runnerId));
        const answer = await answerTo(key, query.waitMs + answerWithinMs, signal);
        if (answer === null) throw away(runner);
        const { id: _id, ...text } = outputTextRequest.parse(JSON.parse(answer));
        if (text.fault !== undefined) throw new Fault("unavailable", text.fault, { isShown: true });
        return text;
      } finally {
        await store.outputReads.delete(key);
      }
    },
    /** What the runner shall upload; nothing: nobody has asked while it waited. */
    async wanted({ id }: Runner, signal: AbortSignal): Promise<WantedAnswer> {
      // An immediate answer would cause the next call at once.
      if (closing.signal.aborted)
        throw new Fault("unavailable", "The server is stopping; ask again soon.", { retryAfterSeconds: 1 });
      const stop = AbortSignal.any([signal, closing.signal]);
      const endsAt = performance.now() + claimWaitMs;
      while (!stop.aborted) {
        const leftMs = endsAt - performance.now();
        if (leftMs <= 0) break;
        const woken = wakeups.wait(runnerTopic(id), Math.min(leftMs, betweenLooksMs), stop);
        const taken = await store.outputReads.take(id);
        const transfers = await takeTransfers(id);
        if (taken.length > 0 || transfers.length > 0)
          return { wanted: taken.map((each) => wantedOutput.parse(JSON.parse(each))), transfers };
        await woken;
      }
      return { wanted: [], transfers: [] };
    },
    async answered({ id }: Runner, text: OutputTextRequest): Promise<void> {
      await store.outputReads.answer(id, text.id, JSON.stringify(text));
      wakeups.notify(readTopic(text.id));
    },
    /** Answers those who wait, because the server is about to close. */
    close: () => closing.abort(),
  };
}
export type WantedOutputs = ReturnType<typeof buildWantedOutput>;

function away(runner: string): Fault {
  return new Fault("unavailable", newReason("runner_away", { runner }), {
    retryAfterSeconds: 10,
    isShown: true,
  });
}
