import type { Scope } from "./scope.ts";

/** While the database refuses to write it is tried again this often at most, and only when somebody asks. */
const failingProbeEveryMs = 1_000;
/** With little space left, a probe holds for this long: asking must not wear out the disk. */
const scarceProbeEveryMs = 5_000;
/** About what a large delivery takes. */
const probeLength = 128 * 1024;
const probeName = "write probe";

/** Knows whether the database takes what is written: one that answers may still have a full disk. */
export interface WriteCheck {
  /** Notices a write that is refused. Only a probe shows that the next one will not be: a transaction may write nothing. */
  watch<T>(write: Promise<T>): Promise<T>;
  /** Null while it can be written; otherwise what is wrong. Writes only where that is in doubt. */
  problem(): Promise<string | null>;
}

export interface WriteCheckOptions {
  /** Whether a failure means that nothing can be written now. */
  isRefusal: (error: unknown) => boolean;
  /** Of the disk: with `little` the next write may fail, with `none` the database lives on what it has reserved. */
  space: () => Promise<"enough" | "little" | "none">;
  probe: () => Promise<void>;
}

const unwritable = "the database cannot be written: its disk may be full, or it only reads";

export function buildWriteCheck({ isRefusal, space, probe }: WriteCheckOptions): WriteCheck {
  let isFailing = false;
  let probing: Promise<void> | null = null;
  let probeAgainAtMs = 0;

  async function watch<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (isRefusal(error)) isFailing = true;
      throw error;
    }
  }

  async function tryIt(): Promise<void> {
    isFailing = await probe().then(
      () => false,
      () => true,
    );
    probeAgainAtMs = performance.now() + (isFailing ? failingProbeEveryMs : scarceProbeEveryMs);
    probing = null;
  }

  return {
    watch,
    async problem() {
      const left = await space();
      if (left === "none") return unwritable;
      if (left === "enough" && !isFailing) return null;
      if (performance.now() >= probeAgainAtMs) probing ??= tryIt();
      await probing;
      return isFailing ? unwritable : null;
    },
  };
}

/** Writes about as much as a large delivery does, and takes it back. */
export async function probeWrite({ db }: Scope): Promise<void> {
  const value = "x".repeat(probeLength);
  await db
    .insertInto("meta")
    .values({ name: probeName, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
  await db.deleteFrom("meta").where("name", "=", probeName).execute();
}
