import { FixedWindow } from "../../rate-limit.ts";

export interface Origin {
  source: string;
  place: string;
}

export interface FloodWriter {
  addToCount(id: number, more: number): Promise<boolean>;
  failed(error: unknown): void;
}

const recordsOfSource = 60;
/** Per project, because an attacker may have many addresses: a botnet, or the 65,536 /64 networks of an IPv6 /48. */
const recordsOfPlace = 600;
/** Keeps a flood that lasts for days from filling the disk. */
const hourlyRecordsOfPlace = 3600;
const maxKeys = 10_000;
const minute = { windowMs: 60_000, maxKeys };
const hour = { windowMs: 3_600_000, maxKeys };

/** The records of one source or place in a minute or hour. */
interface Tally {
  records: number;
  surplus: Promise<number> | null;
  pending: number;
  isWriting: boolean;
}

/**
 * Keeps refused deliveries from filling the database. Each refusal has its own record up to a limit: 60 a minute per source
 * (an address or IPv6 network, for one project), and 600 a minute and 3,600 an hour per place (a project, or all unknown
 * keys). Further refusals are counted in one record per minute.
 */
export function buildFloodGuard(writer: FloodWriter) {
  const sources = new FixedWindow(minute, newTally);
  const places = new FixedWindow(minute, newTally);
  const hours = new FixedWindow(hour, newTally);
  const writing = new Set<Promise<void>>();

  function talliesOf(origin: Origin, nowMs: number) {
    return {
      source: sources.entryOf(origin.source, nowMs),
      place: places.entryOf(origin.place, nowMs),
      hour: hours.entryOf(origin.place, nowMs),
    };
  }

  /** The tally that is over its limit and counts the next refusal; null if the refusal gets its own record. */
  function fullOf({ source, place, hour }: ReturnType<typeof talliesOf>): Tally | null {
    if (place.records >= recordsOfPlace || hour.records >= hourlyRecordsOfPlace) return place;
    return source.records >= recordsOfSource ? source : null;
  }

  function count(tally: Tally, id: number): void {
    tally.pending++;
    if (tally.isWriting) return;
    tally.isWriting = true;
    const work = writeCounts(tally, id).finally(() => writing.delete(work));
    writing.add(work);
  }

  /** One write at a time per tally: counts that arrive meanwhile go into the next write. */
  async function writeCounts(tally: Tally, id: number): Promise<void> {
    while (tally.pending > 0) {
      const more = tally.pending;
      tally.pending = 0;
      await writer.addToCount(id, more).catch(writer.failed);
    }
    // Same turn as the last check, so that later arrivals start another write.
    tally.isWriting = false;
  }

  return {
    /** Calls `create`, or counts the refusal in the surplus record of the minute. Returns the id of the record. */
    async record(origin: Origin, nowMs: number, create: () => Promise<number>): Promise<number> {
      const tallies = talliesOf(origin, nowMs);
      const full = fullOf(tallies);
      if (full === null) {
        for (const tally of Object.values(tallies)) tally.records++;
        return create();
      }
      if (full.surplus === null) {
        tallies.place.records++;
        tallies.hour.records++;
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
    /** Whether the next refusal would only be counted, so that its details are not needed. */
    isFlooding: (origin: Origin, nowMs: number) => fullOf(talliesOf(origin, nowMs)) !== null,
    /** Resolves once all counts are written. */
    async settle(): Promise<void> {
      await Promise.all(writing);
    },
  };
}
export type FloodGuard = ReturnType<typeof buildFloodGuard>;

function newTally(): Tally {
  return { records: 0, surplus: null, pending: 0, isWriting: false };
}
