import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Engine } from "../query/engine.ts";
import { codeOf } from "../query/error-code.ts";
import type { CallKinds } from "../query/keeper-call.ts";
import { buildWriteCheck } from "../query/write-check.ts";
import { buildStoreThread, tooMany } from "./store-thread.ts";
import { buildStoreTime } from "./store-time.ts";

export interface SqliteOptions {
  path: string;
  log: Logger;
  clock: Clock;
  /** Calls `serveSqliteThread` with all operations. */
  threadProgram: string | URL;
}

/** The event loop never opens the file: SQLite blocks its thread. Lists have one of their own, because they may take seconds. */
const writerLimits = { role: "writer", noun: "call", maxCalls: 512, maxWaiting: 10_000 } as const;
const listerLimits = {
  role: "lister",
  noun: "list",
  maxCalls: 1,
  maxWaiting: 1_000,
  timeoutMs: 30_000,
} as const;
/** The caller of a list waits no longer for its answer. */
const maxListWaitMs = 60_000;
const answerTimeoutMs = 3_000;

export async function openSqlite({ path, log, clock, threadProgram }: SqliteOptions): Promise<Engine> {
  const file = resolve(path);
  const time = buildStoreTime(
    clock,
    async (ms) => void (await writer.call("upkeep.shiftPendingTimes", [ms])),
    log,
  );
  const common = { program: threadProgram, file, time };
  const writer = buildStoreThread({ ...common, ...writerLimits });
  const lister = buildStoreThread({ ...common, ...listerLimits });
  const writes = buildWriteCheck({
    isRefusal,
    space: () => spaceOf(dirname(file)),
    probe: async () => void (await writer.call("upkeep.probeWrite", [])),
  });

  async function list(name: string, parameters: readonly unknown[]): Promise<unknown> {
    const answer = await lister.call(name, parameters, maxListWaitMs);
    if (answer === "timeout") throw tooMany(listerLimits.noun);
    return answer;
  }

  // The writer opens the file and brings the schema up to date.
  const kinds = await writer.call("kinds", []).catch(async (error: unknown) => {
    await writer.close();
    throw error;
  });
  return {
    description: `SQLite ${file}`,
    isShared: false,
    kinds: kinds as CallKinds,
    call({ kind, noun, method, parameters }) {
      const name = `${noun}.${method}`;
      return kind === "long" ? list(name, parameters) : writes.watch(writer.call(name, parameters));
    },
    // Operations run one after the other, so that only the wait of a lock is left to do.
    run: ({ name }, input, lock) => writes.watch(writer.call(name, [input], lock?.waitMs)),
    now: () => new Date(time.nowMs()),
    async check() {
      if ((await writer.call("upkeep.ping", [], answerTimeoutMs)) === "timeout")
        throw new Fault("unavailable", "The database does not answer.");
      return writes.problem();
    },
    close: async () => void (await Promise.all([writer.close(), lister.close()])),
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
