import type { ClientEvent, ClientHistory, TakenPosition } from "../reconciler/history.ts";
import { elapsedMs } from "../timeline.ts";

export interface ClientIdentity {
  name: string;
  userId: string;
  channels: string[];
  isTemporary: boolean;
}

/** What one client received, by round. */
export class ClientRecord {
  readonly identity: ClientIdentity;
  readonly #protocol: ClientHistory["protocol"];
  readonly #seenIds = new Set<string>();
  #before = new Set<number>();
  #events: ClientEvent[] = [];
  #isOpen = false;
  #position: (TakenPosition & { text: string }) | null = null;

  constructor(identity: ClientIdentity, protocol: ClientHistory["protocol"]) {
    this.identity = identity;
    this.#protocol = protocol;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Where the client resumes; null: it has no position. */
  get position(): string | null {
    return this.#position?.text ?? null;
  }

  get history(): ClientHistory {
    return {
      ...this.identity,
      protocol: this.#protocol,
      receivedBefore: this.#before,
      events: [...this.#events],
    };
  }

  /** `isResumed`: the client has named its position. */
  opened(gateway: string, recovered: boolean, isResumed: boolean): void {
    this.closed(1006);
    this.#isOpen = true;
    const resumedFrom =
      isResumed && this.#position ? { at: this.#position.at, number: this.#position.number } : null;
    this.#events.push({ type: "open", at: elapsedMs(), gateway, recovered, resumedFrom });
  }

  message(data: string, id: string | null, position: string | null = null): void {
    const number = numberOf(data);
    if (position !== null) this.tookPosition(position, number);
    if (number === null) return;
    const isRepeatedId = id !== null && this.#seenIds.has(id);
    if (id !== null) this.#seenIds.add(id);
    this.#events.push({ type: "message", at: elapsedMs(), number, id, isRepeatedId });
  }

  tookPosition(text: string, number: number | null = null): void {
    this.#position = { text, at: elapsedMs(), number };
  }

  closed(code: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#events.push({ type: "close", at: elapsedMs(), code });
  }

  /** Call when everything has arrived; the next round begins with the current connection. */
  beginRound(): void {
    for (const event of this.#events) if (event.type === "message") this.#before.add(event.number);
    const last = this.#events.findLast((event) => event.type === "open");
    this.#events =
      this.#isOpen && last?.type === "open"
        ? [{ ...last, at: elapsedMs(), recovered: false, resumedFrom: null }]
        : [];
  }
}

function numberOf(data: string): number | null {
  try {
    const number: unknown = Object(JSON.parse(data)).number;
    return typeof number === "number" ? number : null;
  } catch {
    return null;
  }
}
