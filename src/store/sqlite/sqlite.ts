import { stat, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Engine } from "../query/engine.ts";
import { codeOf } from "../query/error-code.ts";
import { buildWriteCheck } from "../query/write-check.ts";
import { buildCheckpoints } from "./sqlite-log.ts";
import { buildStoreThread, type StoreThread } from "./store-thread.ts";
import { buildStoreTime } from "./store-time.ts";
import { failedSync } from "./thread-message.ts";

export interface SqliteOptions {
  path: string;
  log: Logger;
  clock: Clock;
  /** Calls `serveSqliteThread` with all operations. */
  threadProgram: string | URL;
}

/**
 * The event loop never opens the file. One thread writes: operations and calls in order of arrival, many in one
 * transaction. One thread reads, and one runs lists, so that a short read does not wait for a long list.
 */
const threads = {
  writer: { role: "writer", noun: "write", maxCalls: 512, maxGroups: 4, maxWaiting: 10_000 },
  reader: { role: "reader", noun: "read", maxCalls: 64, maxGroups: 4, maxWaiting: 10_000 },
  lister: {
    role: "reader",
    noun: "list",
    maxCalls: 1,
    maxGroups: 1,
    maxWaiting: 1_000,
    // A call that has waited this long is refused: its caller waits no longer for the answer.
    maxWaitMs: 60_000,
    timeoutMs: 30_000,
    // Each thread takes about 10 MB, and nobody reads lists of an idle server.
    idleMs: 60_000,
  },
} as const;

export async function openSqlite({ path, log, clock, threadProgram }: SqliteOptions): Promise<Engine> {
  const file = resolve(path);
  let broken: Error | null = null;
  const nowMs = buildStoreTime(
    clock,
    async (ms) => void (await writer.callNext("upkeep.shiftPendingTimes", [ms])),
    log,
  );
  const common = { program: threadProgram, file, nowMs };
  const writer = buildStoreThread({
    ...common,
    ...threads.writer,
    onAnswer(answer) {
      if ("outcomes" in answer) {
        if (answer.hasWritten) checkpoints.written();
      } else if (answer.failure.code === failedSync)
        broken ??= new Fault("unavailable", answer.failure.message);
    },
  });
  const reader = buildStoreThread({ ...common, ...threads.reader });
  const lister = buildStoreThread({ ...common, ...threads.lister });
  const checkpoints = buildCheckpoints(
    (mode) => lister.call("upkeep.checkpoint", [mode]),
    async () => (await stat(`${file}-wal`)).size,
    log,
  );

  async function write(name: string, parameters: readonly unknown[], waitMs?: number): Promise<unknown> {
    if (broken !== null) throw broken;
    return writer.call(name, parameters, waitMs);
  }
  const writes = buildWriteCheck({
    isRefusal,
    space: () => spaceOf(dirname(file)),
    probe: async () => void (await write("upkeep.probeWrite", [])),
  });
  const threadOf: Record<"read" | "list", StoreThread> = { read: reader, list: lister };

  // The writer opens the file at its first call, and brings the schema up to date. It starts now, not after this turn of
  // the event loop, so that a server loads the rest of its program meanwhile.
  await writer.callNext("upkeep.ping", []).catch(async (error: unknown) => {
    await writer.close();
    throw error;
  });
  return {
    description: `SQLite ${file}`,
    isShared: false,
    call({ kind, noun, method, parameters }) {
      const name = `${noun}.${method}`;
      return kind === "read" || kind === "list"
        ? threadOf[kind].call(name, parameters)
        : writes.watch(write(name, parameters));
    },
    // Operations run one after the other, so that only the wait of a lock is left to do.
    run: ({ name }, input, lock) => writes.watch(write(name, [input], lock?.waitMs)),
    now: () => new Date(nowMs()),
    async check() {
      if (broken !== null) throw broken;
      await reader.call("upkeep.ping", []);
      return writes.problem();
    },
    async close() {
      broken ??= new Fault("unavailable", "The database is closed.");
      checkpoints.close();
      // The writer is the last: it truncates the log that the others read.
      for (const thread of [lister, reader, writer]) await thread.close();
    },
  };
}

/** With less space left than this, the next write may fail. */
const littleBytes = 16 * 1024 * 1024;
/** A large delivery no longer fits. */
const noBytes = 512 * 1024;

/** Some file systems reserve space for root, so only the space available to all users counts. */
async function spaceOf(folder: string): Promise<"enough" | "little" | "none"> {
  const { bavail, bfree, bsize } = await statfs(folder);
  if (bfree * bsize < noBytes) return "none";
  return bavail * bsize < littleBytes ? "little" : "enough";
}

/** SQLite's error codes for a disk that cannot be written. */
const refusals = /^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/;

function isRefusal(error: unknown): boolean {
  return refusals.test(codeOf(error)) || (error instanceof Fault && refusals.test(codeOf(error.cause)));
}
