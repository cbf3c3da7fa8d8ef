import { pause } from "../../clock.ts";
import { messageOf, ReasonError, thrownReason } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import { type Held, runnerPaths, type TransferAnswer } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { type ServerClient, ServerRefusal } from "../server/server-client.ts";

export interface FetchOptions {
  kind: "release" | "data";
  /** The task that needs it. */
  task: Held;
  held: Pick<HeldTask, "stopped">;
  client: Pick<ServerClient, "transfer" | "transferPart">;
  /** The folder of this runner. */
  root: string;
  log: Logger;
  writeLine(text: string): void;
  /** Unpacks the parts into a new folder, and checks what it then has. */
  unpack(parts: AsyncIterable<Uint8Array>): Promise<void>;
  /** Removes what was unpacked. */
  drop(): Promise<void>;
}

/** The transfer is repeated once. */
const maxTries = 2;
/** How long a call about a transfer is repeated while the server does not answer. */
const patienceMs = 120_000;
const betweenMs = 500;

class Failed extends ReasonError {
  readonly isFinal: boolean;
  constructor(reason: Reason, isFinal: boolean) {
    super(reason);
    this.isFinal = isFinal;
  }
}

/** Gets a release or data from its holder, through the server. Null: it is unpacked and complete; otherwise why not. */
export async function fetchArchive(options: FetchOptions): Promise<Reason | null> {
  const { held, drop, writeLine, log } = options;
  for (let tries = 1; ; tries++) {
    try {
      const bytes = await fetchOnce(options);
      writeLine(`[fetched: ${(bytes / 1e6).toFixed(1)} MB, compressed]`);
      return null;
    } catch (error) {
      await drop();
      log.warn({ kind: options.kind, error: messageOf(error), tries }, "a transfer failed");
      const isFinal = error instanceof Failed && error.isFinal;
      if (held.stopped.aborted || isFinal || tries === maxTries) return thrownReason(error);
      writeLine(`[the transfer is repeated once: ${messageOf(error)}]`);
    }
  }
}

/** Returns the size of what was sent. */
async function fetchOnce(options: FetchOptions): Promise<number> {
  const { kind, task, client, root, unpack } = options;
  const begun = await untilAnswered(options, () =>
    client.transfer(runnerPaths.transfer, { ...task, kind, root }),
  );
  if (begun.state === "failed") throw failure(begun);
  if (begun.state !== "begun") throw new Error("the server has answered something else");
  let isWhole = false;
  let bytes = 0;
  /** tar and the decompressor complain about a stream that ends early: this is why it did. */
  let broken: unknown = null;
  function noted(error: unknown): never {
    broken = error;
    throw error;
  }

  async function* parts({ id }: { id: string }): AsyncGenerator<Uint8Array> {
    for (let part = 0; !isWhole; ) {
      const got = await untilAnswered(options, () => client.transferPart({ ...task, id, part })).catch(noted);
      if (got instanceof Uint8Array) {
        part += 1;
        bytes += got.byteLength;
        yield got;
      } else if (got.state === "complete") isWhole = true;
      else if (got.state === "failed") noted(failure(got));
    }
  }

  await unpack(parts(begun)).catch((error: unknown) => {
    throw broken ?? error;
  });
  return bytes;
}

/** A server that restarts, or a connection that was cut, costs nothing but time. */
async function untilAnswered<T>({ held }: FetchOptions, call: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + patienceMs;
  for (;;) {
    if (held.stopped.aborted) throw new Failed(newReason("canceled"), true);
    try {
      return await call();
    } catch (error) {
      if (error instanceof ServerRefusal && error.status < 500) throw error;
      if (performance.now() > endsAt) throw error;
      await pause(betweenMs, held.stopped);
    }
  }
}

function failure(answer: Extract<TransferAnswer, { state: "failed" }>): Failed {
  return new Failed(reasonOf(answer), answer.isFinal);
}
