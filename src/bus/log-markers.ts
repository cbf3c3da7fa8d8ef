import { pause } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { BrokerLog } from "./broker-log.ts";
import type { MarkerRecord } from "./log.ts";
import type { SessionEvents } from "./reconnector.ts";
import { writtenVersion } from "./record-version.ts";

const intervalMs = 5_000;
/** Twice this time without any record, and the log counts as deaf. Twice, because this process may have been suspended once. */
const checkMs = 2_000;

export interface MarkersOptions {
  log: BrokerLog;
  events: SessionEvents;
  /** Resolves when the broker has confirmed; waits while it accepts no records. */
  send(marker: MarkerRecord): Promise<void>;
  /** Whether the broker accepts no records of anyone, because of an alarm. */
  isBlocked(): boolean;
}

/**
 * Appends a marker to one log at the start of a session and then periodically. The first one that comes back ends the
 * starting read: every earlier record was handled before it. A later one that is confirmed and does not come back shows
 * that the log is no longer connected to this reader, which brokers do not report.
 */
export async function keepMarking({ log, events, send, isBlocked }: MarkersOptions): Promise<void> {
  const { signal, paused, resumed } = events;
  const [reading, appending] = [`reading ${log.name}`, `appending ${log.name}`];
  paused(reading, `reading ${log.name} up to its end`);
  paused(appending, `waiting until a record is stored in ${log.name}`, "unknown");
  const ended = new AbortController();
  const endReading = () => {
    ended.abort();
    if (signal.aborted) return;
    log.endReading();
    resumed(reading);
  };
  void endInAlarm(log, AbortSignal.any([signal, ended.signal]), isBlocked, endReading);
  for (; !signal.aborted; await pause(intervalMs, signal)) {
    const marker: MarkerRecord = {
      v: writtenVersion,
      id: crypto.randomUUID(),
      type: "marker",
      ts: Date.now(),
    };
    let isBack = false;
    void log.awaitMarker(marker.id).then(() => {
      isBack = true;
      endReading();
    });
    try {
      await send(marker);
    } catch (cause) {
      if (!signal.aborted) paused(appending, messageOf(cause), "publishing");
      continue;
    }
    resumed(appending);
    let idleChecks = 0;
    while (!isBack && !signal.aborted) {
      const arrived = log.arrived;
      await pause(checkMs, signal);
      idleChecks = log.isHandling || log.arrived !== arrived ? 0 : idleChecks + 1;
      if (isBack || idleChecks < 2 || signal.aborted) continue;
      log.noteMissing(marker.id);
      events.broken(new Error(`records of ${log.name} are confirmed but do not arrive`));
    }
  }
}

/** While nothing can be appended no marker comes back; then nobody else appends either, and silence is the end. */
async function endInAlarm(
  log: BrokerLog,
  signal: AbortSignal,
  isBlocked: () => boolean,
  end: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const arrived = log.arrived;
    const wasBlocked = isBlocked();
    await pause(checkMs, signal);
    const isSilent = !log.isHandling && log.arrived === arrived && !log.awaitsRepeat;
    if (wasBlocked && isBlocked() && isSilent) end();
  }
}
