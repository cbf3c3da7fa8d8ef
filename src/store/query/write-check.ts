/** Minimum time between probes while writes fail; a probe runs only on a readiness check. */
const failingProbeEveryMs = 1_000;
/** With little space left, a probe is valid for this long, so that readiness checks do not wear out the disk. */
const scarceProbeEveryMs = 5_000;

export interface WriteCheckOptions {
  /** Whether an error means that nothing can be written now. */
  isRefusal: (error: unknown) => boolean;
  /** Free disk space. `little`: the next write may fail. `none`: the database can use only its reserved space. */
  space: () => Promise<"enough" | "little" | "none">;
  probe: () => Promise<void>;
}

const unwritable = "the database cannot be written: its disk may be full, or it only reads";

/** Detects whether the database accepts writes: a database that answers may still have a full disk. */
export function buildWriteCheck({ isRefusal, space, probe }: WriteCheckOptions) {
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
    /** Records a refused write. Only a probe clears it, because a successful transaction may have written nothing. */
    watch,
    /** Null while the database can be written; otherwise the problem. Writes a probe only in doubt. */
    async problem(): Promise<string | null> {
      const left = await space();
      if (left === "none") return unwritable;
      if (left === "enough" && !isFailing) return null;
      if (performance.now() >= probeAgainAtMs) probing ??= tryIt();
      await probing;
      return isFailing ? unwritable : null;
    },
  };
}
