import type { Log, LogRecord } from "../../bus/log.ts";
import { writtenVersion } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { ControlMessage } from "../message/control-message.ts";
import { Idempotency } from "../publish/idempotency.ts";

export interface SingleUseParts {
  control: Pick<Log, "append">;
  node: string;
  newId: () => string;
  steady: Clock;
}

/** Longer than a token with an id is accepted, also with clocks that differ; the log is read this far back at start. */
export const singleUseWindowMs = 10 * 60_000;
/** Used names of the window that are remembered at most. */
const maxNames = 2_000_000;
const readBackMs = 4_500;

/**
 * Names that may be used once in the whole cluster. Each use is a record of the log `control`, and the first record with a
 * name counts. The log has a hash in place of the name.
 */
export class SingleUse {
  readonly #parts: SingleUseParts;
  readonly #uses = new Idempotency({ windowMs: singleUseWindowMs, maxKeys: maxNames });

  constructor(parts: SingleUseParts) {
    this.#parts = parts;
  }

  /** True: this is the first use. Rejects if the log cannot be written or read now. */
  async claim(name: string): Promise<boolean> {
    const { control, node, newId, steady } = this.#parts;
    const key = new Bun.CryptoHasher("sha256").update(name).digest("base64url");
    if (this.#uses.find(key, steady.now())) return false;
    const message: ControlMessage = { v: writtenVersion, id: newId(), node, type: "use", key };
    const reading = this.#uses.whenRead(message.id);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(notReadBack()), readBackMs);
    try {
      await Promise.race([control.append(message), late.promise]);
      return (await Promise.race([reading.first, late.promise])).id === message.id;
    } finally {
      clearTimeout(timer);
      reading.forget();
    }
  }

  /** A use was read from the log. */
  receive({ offset, ageMs }: LogRecord, { id, key }: ControlMessage & { type: "use" }): void {
    const atMs = this.#parts.steady.now() - ageMs;
    this.#uses.read(key, { offset, id, fingerprint: 0n, atMs });
  }

  dropOld(nowMs: number): void {
    this.#uses.dropOld(nowMs);
  }
}

function notReadBack(): Fault {
  return new Fault("unavailable", "The use of a code was not read back from the message queue in time.");
}
