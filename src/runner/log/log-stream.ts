import type { Clock } from "../../clock.ts";
import { logLineSize } from "../../log-line-size.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import type { WireLine } from "../protocol.ts";
import { buildLineSplitter } from "./line-splitter.ts";
import type { Masker } from "./masker.ts";

/** A part of the log, or the step of a stage. */
export type LogPlace = WireLine["stage"] | { stage: WireLine["stage"]; name: string };

/** Output of one step: bytes in, lines out. */
export interface StepOutput {
  write(bytes: Uint8Array): void;
  end(): void;
}

export interface LogStreamOptions {
  /** Sends lines and returns the next index that the server expects; null: there is no server to send to any more. */
  send(from: number, lines: WireLine[]): Promise<number | null>;
  clock: Clock;
  from: number;
  masker: Masker;
  maxBytes: number;
  usedBytes: number;
}

const batchMaxLines = 2000;
const batchMaxBytes = 256 * 1024;
/** Half of what the server accepts beyond the log limit: more than a runner's own lines need. */
const saidMaxBytes = 512 * 1024;
/** Lines are collected for this long while the server processes the previous batch. */
const pauseBetweenBatchesMs = 25;

/** The log of one attempt on its way to the server: lines are kept until the server has acknowledged them. */
export function buildLogStream(options: LogStreamOptions) {
  const { clock, maxBytes, masker } = options;
  /** Lines the server has not acknowledged; bounded by maxBytes and saidMaxBytes. */
  const unacknowledged: WireLine[] = [];
  let firstIndex = options.from;
  let bytes = options.usedBytes;
  let isFull = bytes >= maxBytes;
  let saidBytes = 0;
  let isGivenUp = false;
  let sending: Promise<void> | null = null;

  function add(place: LogPlace, text: string): void {
    const named = typeof place === "string" ? { stage: place } : { stage: place.stage, step: place.name };
    unacknowledged.push({ ...named, at: new Date(clock.now()).toISOString(), text });
    startSending();
  }

  function startSending(): void {
    if (isGivenUp || unacknowledged.length === 0) return;
    sending ??= sendAll().finally(() => {
      sending = null;
      startSending();
    });
  }

  function addCapped(place: LogPlace, text: string): void {
    if (isFull) return;
    bytes += logLineSize(text);
    isFull = bytes > maxBytes;
    if (isFull) add(place, `[log cut: it reached ${maxBytes} bytes; the rest of the output is not kept]`);
    else add(place, text);
  }

  async function sendAll(): Promise<void> {
    // The first line waits for the end of this turn of the loop, so that it is sent together with others.
    await Promise.resolve();
    while (unacknowledged.length > 0 && !isGivenUp) {
      const batch = nextBatch(unacknowledged);
      const acknowledged = await options.send(firstIndex, batch);
      if (acknowledged === null) {
        isGivenUp = true;
        return;
      }
      unacknowledged.splice(0, Math.min(Math.max(acknowledged - firstIndex, 0), batch.length));
      // A server whose database was restored from a backup expects an earlier index than it has acknowledged.
      firstIndex = acknowledged;
      if (unacknowledged.length > 0) await Bun.sleep(pauseBetweenBatchesMs);
    }
  }

  return {
    stepOutput(place: LogPlace): StepOutput {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      const masked = masker.stream();
      const splitter = buildLineSplitter();
      const addAll = (lines: string[]) => {
        for (const line of lines) addCapped(place, line);
      };
      return {
        write(chunk) {
          // To read output that is not kept would take the time of other tasks.
          if (!isFull) addAll(splitter.push(masked.push(decoder.decode(chunk, { stream: true }))));
        },
        end() {
          addAll(splitter.push(masked.push(decoder.decode()) + masked.end()));
          addAll(splitter.end());
        },
      };
    },
    /** A line of the runner itself; it is logged even if the log limit is reached, up to its own limit. */
    writeLine(place: LogPlace, text: Reason): void {
      const splitter = buildLineSplitter();
      const lines = splitter.push(masker.text(renderReason(text)));
      for (const line of [...lines, ...splitter.end()]) {
        saidBytes += logLineSize(line);
        if (saidBytes <= saidMaxBytes) add(place, line);
      }
    },
    /** Resolves when the server has all lines, or when sending was given up. */
    async flushed(): Promise<void> {
      while (sending) await sending;
    },
  };
}
export type LogStream = ReturnType<typeof buildLogStream>;

function nextBatch(lines: WireLine[]): WireLine[] {
  let bytes = 0;
  let count = 0;
  for (const line of lines) {
    bytes += logLineSize(line.text);
    if (count > 0 && (bytes > batchMaxBytes || count >= batchMaxLines)) break;
    count += 1;
  }
  return lines.slice(0, count);
}
