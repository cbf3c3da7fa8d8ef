import { Fault } from "../errors.ts";
import type {
  Delivery,
  DeliveryAnswer,
  DeliveryFilter,
  DeliveryKeeper,
  DeliveryPlace,
  ScannedDelivery,
} from "../model/delivery.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { deliveryKinds } from "./decide/delivery-kind.ts";
import { isRefused } from "./decide/outcome.ts";

/**
 * The deliveries that a bulk replay takes from a filtered list, and the outcome of the others. The counts add up to
 * `matched`.
 */
export interface BulkReplay {
  /** Deliveries that match the filter and that earlier calls have not processed. */
  matched: number;
  /** Deliveries of a ref for which a newer one was found. */
  older: number;
  /**
   * Deliveries of a ref with a newer delivery outside the list that was accepted or merged, or that deleted the ref.
   */
  overtaken: number;
  /** Deliveries whose signature failed: their sender is unknown, so each must be replayed individually. */
  unverified: number;
  /** Deliveries without anything to build, and replays and tests. */
  nothing: number;
  /** The latest of their refs, but not among `only`. */
  unselected: number;
  /** The latest of further refs, for the next call. */
  left: number;
  /** Whether the filter finds more than were looked at. */
  isCut: boolean;
  /** Where the next call continues; null: nothing is left. */
  next: DeliveryPlace | null;
  /** Oldest first. Replayed, unless it was a preview. */
  items: ReplayedItem[];
}

export interface ReplayedItem {
  delivery: Delivery;
  /** In a preview, the outcome by the current rules. Null: replayed, or it cannot be replayed. */
  expected: ExpectedOutcome | null;
  /** Null in a preview, or if it could not be replayed. A refusal is a response too. */
  response: DeliveryAnswer | null;
  problem: Reason | null;
}

/** Each delivery is judged on its own: the effects of those before it in the list are not known. */
export type ExpectedOutcome = Pick<DeliveryAnswer, "status" | "code" | "reason">;

/** The limit of totals in lists: a longer list must be narrowed. */
export const maxScanned = 10_000;
const scannedAtOnce = 500;
export const maxReplayed = 100;

export interface BulkReplayOptions {
  deliveries: Pick<DeliveryKeeper, "scan" | "overtaken" | "byId">;
  replay(delivery: Delivery, username: string): Promise<{ body: DeliveryAnswer }>;
  expect(delivery: Delivery): Promise<ExpectedOutcome>;
}

export interface BulkOrder {
  filter: DeliveryFilter;
  /** `next` of the previous call. */
  after: DeliveryPlace | null;
  /** Ids of the deliveries that may be replayed, at most 100; null: all. */
  only: readonly number[] | null;
  /** Only shows what would be replayed. */
  preview: boolean;
  /** The user who replays. */
  username: string;
  /** Called after each replay, before the next one. */
  onReplayed(delivery: Delivery, answer: DeliveryAnswer): Promise<void>;
}

/** Replays the latest delivery of each ref in a filtered list, newest refs first, at most 100 in one call. */
export type BulkReplays = (order: BulkOrder) => Promise<BulkReplay>;

export function buildBulkReplays({ deliveries, replay, expect }: BulkReplayOptions): BulkReplays {
  async function walk(filter: DeliveryFilter): Promise<Entry[]> {
    const entries: Entry[] = [];
    let place: DeliveryPlace | null = null;
    while (entries.length < maxScanned) {
      const rows: ScannedDelivery[] = await deliveries.scan(filter, place, scannedAtOnce);
      entries.push(...rows.map(entryOf));
      if (rows.length < scannedAtOnce) break;
      place = rows.at(-1) ?? null;
    }
    return entries;
  }

  /** Fills one call with deliveries that have no newer one. */
  async function take(latest: Entry[]): Promise<{ taken: Entry[]; looked: number }> {
    const taken: Entry[] = [];
    let looked = 0;
    while (looked < latest.length && taken.length < maxReplayed) {
      const next = latest.slice(looked, looked + maxReplayed - taken.length);
      const gone = new Set(await deliveries.overtaken(next.map(({ id }) => id)));
      taken.push(...next.filter(({ id }) => !gone.has(id)));
      looked += next.length;
    }
    return { taken, looked };
  }

  async function itemOf(
    id: number,
    { preview, username, onReplayed }: BulkOrder,
  ): Promise<ReplayedItem | null> {
    const delivery = await deliveries.byId(id);
    if (delivery === null) return null;
    if (preview) return previewOf(delivery);
    const expected = null;
    // Deliveries keep arriving: a look-up from before the first replay may be outdated.
    if ((await deliveries.overtaken([id])).length > 0)
      return { delivery, expected, response: null, problem: newReason("replay_overtaken") };
    try {
      const { body: response } = await replay(delivery, username);
      await onReplayed(delivery, response);
      return { delivery, expected, response, problem: isRefused(response) ? response.reason : null };
    } catch (error) {
      // A delivery that cannot be replayed must not block the others.
      if (!(error instanceof Fault)) throw error;
      return { delivery, expected, response: null, problem: error.reason };
    }
  }

  async function previewOf(delivery: Delivery): Promise<ReplayedItem> {
    try {
      const expected = await expect(delivery);
      return { delivery, expected, response: null, problem: isRefused(expected) ? expected.reason : null };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { delivery, expected: null, response: null, problem: error.reason };
    }
  }

  return async (order) => {
    const entries = await walk(order.filter);
    const { latest: found, ...counts } = sortOut(entries, order.after);
    const selected = order.only && new Set(order.only);
    const latest = selected === null ? found : found.filter(({ id }) => selected.has(id));
    const { taken, looked } = await take(latest);
    const items: ReplayedItem[] = [];
    for (const { id } of taken.toReversed()) {
      const item = await itemOf(id, order);
      if (item !== null) items.push(item);
    }
    const left = latest.length - looked;
    return {
      ...counts,
      overtaken: looked - taken.length,
      unselected: found.length - latest.length,
      left,
      isCut: entries.length >= maxScanned,
      next: left > 0 ? (latest[looked - 1] ?? null) : null,
      items,
    };
  };
}

/** The fields of a delivery that the selection needs; its event is not kept in memory. */
interface Entry extends DeliveryPlace {
  /** Project and ref: a newer delivery replaces an older one with the same key. */
  target: string;
  kind: "builds" | "deletes" | "unverified" | "nothing";
}

function entryOf(scanned: ScannedDelivery): Entry {
  const { id, created_at, project_id, normalized } = scanned;
  return { id, created_at, target: `${project_id} ${normalized?.rawRef}`, kind: kindOf(scanned) };
}

/** Replays and tests are newer than their original; the host's own delivery is replayed. */
const notOfHosts: readonly string[] = [deliveryKinds.test.remoteIp, deliveryKinds.replay.remoteIp];

function kindOf({ code, remote_ip, normalized: event }: ScannedDelivery): Entry["kind"] {
  if (code === "signature_invalid") return "unverified";
  // No filter ever accepts an invalid ref.
  if (event === null || code === "ref_invalid" || notOfHosts.includes(remote_ip)) return "nothing";
  if (event.skip === null) return "builds";
  return event.skip.code === "ref_deleted" ? "deletes" : "nothing";
}

/** Entries come newest first. A ref that was deleted last is not built from an older push of it. */
function sortOut(entries: Entry[], after: DeliveryPlace | null) {
  const seen = new Set<string>();
  const latest: Entry[] = [];
  const counts = { matched: 0, older: 0, unverified: 0, nothing: 0 };
  for (const entry of entries) {
    const isHere = after === null || comesAfter(entry, after);
    const isOfRef = entry.kind === "builds" || entry.kind === "deletes";
    const isOlder = isOfRef && seen.has(entry.target);
    if (isOfRef) seen.add(entry.target);
    if (!isHere) continue;
    counts.matched++;
    if (isOlder) counts.older++;
    else if (entry.kind === "builds") latest.push(entry);
    else if (entry.kind === "unverified") counts.unverified++;
    else counts.nothing++;
  }
  return { latest, ...counts };
}

function comesAfter(entry: DeliveryPlace, place: DeliveryPlace): boolean {
  const apart = place.created_at.getTime() - entry.created_at.getTime();
  return apart === 0 ? entry.id < place.id : apart > 0;
}
