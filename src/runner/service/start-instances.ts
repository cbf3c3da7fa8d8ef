import { type Clock, pause } from "../../clock.ts";
import { thrownReason } from "../../errors.ts";
import { failed, type StageEnd } from "../stage/stage-script.ts";
import type { Instance } from "./instance.ts";
import type { StartProgress } from "./service-release.ts";

const pollEveryMs = 100;

export const succeeded: StageEnd = { state: "success", exitCode: 0, reason: "" };
/** The caller knows why it stopped the work. */
export const canceled: StageEnd = { state: "canceled", exitCode: null, reason: "" };

/** Starts an instance and waits until it serves. */
export async function startInstance(
  instance: Instance,
  progress: Pick<StartProgress, "line" | "output">,
  { clock, stop }: { clock: Clock; stop: AbortSignal },
): Promise<StageEnd> {
  const { name, output } = instance;
  let offset = output.to() - output.base();
  try {
    await instance.start(stop, (text) => progress.line(name, text));
    const lateAt = clock.elapsed() + (instance.record.service.check?.within ?? 0) * 1000;
    for (;;) {
      instance.look();
      const { bytes, next } = instance.outputFrom(offset);
      offset = next;
      if (bytes.length > 0) progress.output(name, bytes);
      if (stop.aborted) return canceled;
      const fault = await instance.startFault(clock.elapsed() > lateAt);
      if (fault !== null) return failed(fault);
      if (instance.state() === "serving") return succeeded;
      await pause(pollEveryMs, stop);
    }
  } catch (error) {
    return stop.aborted ? canceled : failed(thrownReason(error));
  }
}

/** Starts all at once. The first failure ends the wait for the others. */
export async function startInstances(
  list: Instance[],
  progress: StartProgress,
  { clock, stop }: { clock: Clock; stop: AbortSignal },
): Promise<StageEnd> {
  const failure = new AbortController();
  const signal = AbortSignal.any([stop, failure.signal]);
  let worst = succeeded;
  for (const { name, record } of list) if (!(await progress.begin(name, record.port))) return canceled;
  await Promise.all(
    list.map(async (instance) => {
      const end = await startInstance(instance, progress, { clock, stop: signal });
      if (end.state !== "success" && worst.state === "success") {
        worst = end;
        failure.abort();
      }
      await progress.end(instance.name, end);
    }),
  );
  return worst;
}
