import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { LogFiles } from "../../src/bus/local.ts";
import { LogFile } from "../../src/bus/log-file.ts";
import { manualClock } from "../../src/clock.ts";
import type { ToWorker } from "../../src/workers/protocol.ts";
import { type Receiver, SharedLog } from "../../src/workers/supervisor/shared-log.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

class RecordingWorker implements Receiver {
  readonly worker: number;
  readonly frames: string[] = [];

  constructor(worker: number) {
    this.worker = worker;
  }

  readonly offsets: number[] = [];

  send(header: ToWorker, body?: Uint8Array): void {
    const record = body ? (JSON.parse(Buffer.from(body).toString()) as { id: string; type?: string }) : null;
    const text = record?.type === "marker" ? "(marker)" : (record?.id ?? "");
    this.frames.push(`${header.type} ${text}`.trim());
    if (header.type === "record") this.offsets.push(header.offset);
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("the log of the supervisor", () => {
  const clock = manualClock();
  const newLog = (files: LogFiles = { broadcast: null, control: null }) =>
    new SharedLog({
      windowsMs: { broadcast: 60_000, control: 60_000 },
      maxBytes: 1_000,
      files,
      clock,
      steady: clock,
    });
  const append = (to: SharedLog, text: string, onHandled: (affected: number) => void = () => {}) =>
    to.append("broadcast", Buffer.from(`{"id":"${text}"}`), onHandled);
  const marker = "record (marker)";

  test("records that wait are sent before an answer that must not overtake them", async () => {
    const [one, log] = [new RecordingWorker(1), newLog()];
    log.read(one);
    append(log, "a");
    log.sendWaiting(one);
    expect(one.frames).toEqual([marker, "caughtUp", "record a"]);
    await turn();
    expect(one.frames).toEqual([marker, "caughtUp", "record a"]);
  });

  test("the next supervisor continues the log from its file", async () => {
    const folder = temporaryFolder("log");
    const fileOf = (name: string) =>
      new LogFile({
        file: join(folder, name),
        windowMs: 60_000,
        maxBytes: 1_000,
        clock,
        steady: clock,
        machine: null,
        onFault: (reason) => expect(reason).toBe(""),
        onCut: () => {},
      });
    const open = () => newLog({ broadcast: fileOf("broadcast"), control: fileOf("control") });
    const before = open();
    append(before, "a");
    before.append("control", Buffer.from('{"id":"c"}'), () => {});
    await turn();
    const reader = new RecordingWorker(1);
    open().read(reader);
    expect(reader.frames).toEqual([marker, "record a", "record c", "caughtUp"]);
  });
});
