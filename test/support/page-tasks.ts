import type { Page } from "playwright-core";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** CPU time of the thread, in microseconds: unlike the clock's, it does not grow when others use the machine. */
  tdur?: number;
  args: { name?: string };
}

/** Acts on a page; returns the CPU time of each task that its main thread ran meanwhile, in milliseconds. */
export async function pageTasks(page: Page, act: () => Promise<unknown>): Promise<number[]> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "__metadata"] },
  });
  await act();
  const collected = new Promise<void>((resolve) => session.once("Tracing.tracingComplete", () => resolve()));
  await session.send("Tracing.end");
  await collected;
  await session.detach();
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}:${tid}`;
  const isMain = new Set(
    events.filter(({ ph, args }) => ph === "M" && args.name === "CrRendererMain").map(threadOf),
  );
  return events
    .filter((event) => event.name === "ThreadControllerImpl::RunTask" && isMain.has(threadOf(event)))
    .map(({ tdur = 0 }) => tdur / 1000);
}
