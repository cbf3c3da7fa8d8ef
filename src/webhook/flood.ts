/**
 * Keeps refused deliveries from filling the database. Of one source (an address or IPv6 network, alone or at a project) the
 * first 60 of a minute are records of their own, and of one place (the unknown keys, or a project) the first 600, however
 * many sources they have. The surplus of each is one record whose count grows.
 */
export interface FloodGuard {
  /** Records by `create`, or counts onto the minute's surplus record; answers the record's id. */
  record(origin: Origin, nowMs: number, create: () => Promise<number>): Promise<number>;
  /** Whether the next one would only be counted: then nothing more needs to be found out about it. */
  isFlooding(origin: Origin, nowMs: number): boolean;
  /** Resolves once all counts are written. */
  settle(): Promise<void>;
}

export interface Origin {
  source: string;
  place: string;
}

export interface FloodWriter {
  addToCount(id: number, more: number): Promise<boolean>;
  failed(error: unknown): void;
}

const recordsOfSource = 60;
/** An attacker may have any number of addresses: a botnet, or the 65,536 networks of an IPv6 /48. */
const recordsOfPlace = 600;
/** Sources beyond this share one entry: an attacker with many addresses must not buy memory. */
const maxEntries = 10_000;

/** What one source or place has recorded in a minute. */
interface Tally {
  minute: number;
  records: number;
  surplus: Promise<number> | null;
  pending: number;
  writing: Promise<void> | null;
}

export function buildFloodGuard(writer: FloodWriter): FloodGuard {
  const sources = new Map<string, Tally>();
  const places = new Map<string, Tally>();
  const writing = new Set<Promise<void>>();

  /** The tally at which the next record is surplus; null when neither is full. */
  function fullOf(source: Tally, place: Tally): Tally | null {
    if (place.records >= recordsOfPlace) return place;
    return source.records >= recordsOfSource ? source : null;
  }

  function count(tally: Tally, id: number): void {
    tally.pending++;
    if (tally.writing) return;
    const work = writeCounts(tally, id).finally(() => {
      tally.writing = null;
      writing.delete(work);
    });
    tally.writing = work;
    writing.add(work);
  }

  /** One write at a time for a tally: what arrives meanwhile goes with the next. */
  async function writeCounts(tally: Tally, id: number): Promise<void> {
    while (tally.pending > 0) {
      const more = tally.pending;
      tally.pending = 0;
      await writer.addToCount(id, more).catch(writer.failed);
    }
  }

  return {
    async record(origin, nowMs, create) {
      const source = tallyOf(sources, origin.source, nowMs);
      const place = tallyOf(places, origin.place, nowMs);
      const full = fullOf(source, place);
      if (full === null) {
        source.records++;
        place.records++;
        return create();
      }
      if (full.surplus === null) {
        place.records++;
        full.surplus = create();
        return full.surplus.catch((error: unknown) => {
          full.surplus = null;
          throw error;
        });
      }
      const id = await full.surplus;
      count(full, id);
      return id;
    },
    isFlooding({ source, place }, nowMs) {
      return fullOf(tallyOf(sources, source, nowMs), tallyOf(places, place, nowMs)) !== null;
    },
    async settle() {
      await Promise.all(writing);
    },
  };
}

/** The tally of this minute. When there are too many, those of earlier minutes are forgotten first. */
function tallyOf(tallies: Map<string, Tally>, name: string, nowMs: number): Tally {
  const minute = Math.floor(nowMs / 60_000);
  if (!tallies.has(name) && tallies.size >= maxEntries)
    for (const [key, old] of tallies) if (old.minute !== minute) tallies.delete(key);
  const key = tallies.has(name) || tallies.size < maxEntries ? name : "";
  const known = tallies.get(key);
  if (known && known.minute === minute) return known;
  const fresh: Tally = { minute, records: 0, surplus: null, pending: 0, writing: null };
  tallies.set(key, fresh);
  return fresh;
}
