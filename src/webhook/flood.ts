/**
 * Keeps refused deliveries from filling the database. Of one source (an address or IPv6 network, alone or at a project) the
 * first 60 of a minute are records of their own; the surplus is one record whose count grows.
 */
export interface FloodGuard {
  /** Records by `create`, or counts onto the minute's surplus record; answers the record's id. */
  record(source: string, nowMs: number, create: () => Promise<number>): Promise<number>;
  /** Whether the next one of this source would only be counted: then nothing more needs to be found out about it. */
  isFlooding(source: string, nowMs: number): boolean;
  /** Resolves once all counts are written. */
  settle(): Promise<void>;
}

export interface FloodWriter {
  addToCount(id: number, more: number): Promise<boolean>;
  failed(error: unknown): void;
}

const ownRecordsPerMinute = 60;
/** Sources beyond this share one entry: an attacker with many addresses must not buy memory. */
const maxSources = 10_000;

interface Source {
  minute: number;
  records: number;
  surplus: Promise<number> | null;
  pending: number;
  writing: Promise<void> | null;
}

export function buildFloodGuard(writer: FloodWriter): FloodGuard {
  const sources = new Map<string, Source>();
  const writing = new Set<Promise<void>>();

  function sourceOf(name: string, nowMs: number): Source {
    const minute = Math.floor(nowMs / 60_000);
    if (!sources.has(name) && sources.size >= maxSources)
      for (const [key, old] of sources) if (old.minute < minute) sources.delete(key);
    const key = sources.has(name) || sources.size < maxSources ? name : "";
    const known = sources.get(key);
    if (known && known.minute === minute) return known;
    const fresh: Source = { minute, records: 0, surplus: null, pending: 0, writing: null };
    sources.set(key, fresh);
    return fresh;
  }

  function count(source: Source, id: number): void {
    source.pending++;
    if (source.writing) return;
    const work = writeCounts(source, id).finally(() => {
      source.writing = null;
      writing.delete(work);
    });
    source.writing = work;
    writing.add(work);
  }

  /** One write at a time for a source: what arrives meanwhile goes with the next. */
  async function writeCounts(source: Source, id: number): Promise<void> {
    while (source.pending > 0) {
      const more = source.pending;
      source.pending = 0;
      await writer.addToCount(id, more).catch(writer.failed);
    }
  }

  return {
    async record(name, nowMs, create) {
      const source = sourceOf(name, nowMs);
      if (source.records < ownRecordsPerMinute) {
        source.records++;
        return create();
      }
      if (source.surplus === null) {
        source.surplus = create();
        return source.surplus.catch((error: unknown) => {
          source.surplus = null;
          throw error;
        });
      }
      const id = await source.surplus;
      count(source, id);
      return id;
    },
    isFlooding: (name, nowMs) => sourceOf(name, nowMs).records >= ownRecordsPerMinute,
    async settle() {
      await Promise.all(writing);
    },
  };
}
