import { buildBackoff, type Clock, pause } from "../clock.ts";
import type { BusState } from "./bus.ts";
import { reasonOf } from "./failure-reason.ts";
import type { OutageLog } from "./outage-log.ts";

/** What does not work during a pause. `unknown`: nothing may be wrong, but publishing is not proven yet. */
export type PauseScope = "all" | "publishing" | "unknown";

/** What a session reports to its reconnector. Calls after the session has ended are ignored. */
export interface SessionEvents {
  /** The session begins to connect to this node, or to one of these. */
  connecting(address: string): void;
  /** The session is over; a new one is opened. */
  broken(reason: unknown): void;
  /** Connected but not usable, until `resumed` is called for every reason given. `scope` is `all` if not given. */
  paused(reason: string, detail: string, scope?: PauseScope): void;
  resumed(reason: string): void;
  /** Aborted when the session must end, also while it is being opened. */
  signal: AbortSignal;
}

interface Pause {
  detail: string;
  scope: PauseScope;
}

interface Closeable {
  close(): Promise<void>;
}

export interface ReconnectorOptions<Session extends Closeable> {
  /** Connects, declares and consumes. Cleans up after itself when it fails or when the signal is aborted. */
  open(events: SessionEvents): Promise<Session>;
  readyDetail: string;
  outages: OutageLog;
  clock: Clock;
  random(): number;
  openTimeoutMs: number;
  minDelayMs: number;
  maxDelayMs: number;
}

/** After a session of this length the next failure starts with the shortest wait again. */
const stableMs = 5_000;

/** Keeps a session open: opens it, waits until it breaks, backs off with jitter, and opens the next. */
export class Reconnector<Session extends Closeable> {
  readonly #options: ReconnectorOptions<Session>;
  readonly #listeners: ((state: BusState) => void)[] = [];
  #state: BusState = { ready: false, detail: "not started" };
  #session: Session | undefined;
  #current: AbortController | undefined;
  #pauses = new Map<string, Pause>();
  readonly #backoff: ReturnType<typeof buildBackoff>;
  readonly #closing = new AbortController();
  #isClosed = false;
  #loop: Promise<void> | undefined;
  /** The node of the current or last attempt. */
  #address = "";
  /** Why the last attempt or session ended. Empty once a session is ready. */
  #lastFailure = "";

  constructor(options: ReconnectorOptions<Session>) {
    this.#options = options;
    this.#backoff = buildBackoff(options.minDelayMs, options.maxDelayMs, options.random);
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  state(): BusState {
    return this.#state;
  }

  onStateChange(listener: (state: BusState) => void): void {
    this.#listeners.push(listener);
  }

  /** Undefined unless a session is open and usable. */
  session(): Session | undefined {
    return this.#state.ready ? this.#session : undefined;
  }

  /** Whether the session is paused for this reason. */
  isPaused(reason: string): boolean {
    return this.#pauses.has(reason);
  }

  /** Ends the session as broken, for example when the broker stopped answering. */
  break(reason: unknown): void {
    this.#current?.abort(reason);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const session = this.#session;
    this.#setState({ ready: false, detail: "closed" });
    this.#session = undefined;
    await session?.close();
    this.#current?.abort(new Error("closed"));
    this.#closing.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const openedAt = this.#options.clock.now();
      const reason = await this.#runSession();
      if (this.#isClosed) return;
      if (this.#options.clock.now() - openedAt >= stableMs) this.#backoff.reset();
      await this.#backOff(reason);
    }
  }

  /** Returns why the session ended. */
  async #runSession(): Promise<unknown> {
    const abort = new AbortController();
    this.#current = abort;
    const ended = new Promise<unknown>((resolve) => {
      abort.signal.addEventListener("abort", () => resolve(abort.signal.reason), { once: true });
    });
    const waitSeconds = this.#options.openTimeoutMs / 1000;
    const giveUp = () => abort.abort(new Error(`the broker did not answer within ${waitSeconds} s`));
    const tooLong = setTimeout(giveUp, this.#options.openTimeoutMs);
    // Before `open`, because a session may pause while it is being opened.
    const pauses = new Map<string, Pause>();
    this.#pauses = pauses;
    const isOver = () => abort.signal.aborted || this.#isClosed;
    const updateState = () => {
      if (isOver() || !this.#session) return;
      this.#setState(pausedState([...pauses.values()]) ?? { ready: true, detail: this.#options.readyDetail });
      const refusing = [...pauses.values()].findLast(({ scope }) => scope === "publishing");
      if (refusing) this.#options.outages.note("refusing", this.#atNode(refusing.detail));
    };
    const events: SessionEvents = {
      signal: abort.signal,
      connecting: (address) => {
        if (isOver()) return;
        this.#address = address;
        const before = this.#lastFailure === "" ? "" : `; before: ${this.#lastFailure}`;
        const detail = `connecting to ${address}, for at most ${waitSeconds} s${before}`;
        this.#setState({ ready: false, detail });
      },
      // A closing session closes its channels one after the other, which is not a failure.
      broken: (cause) => {
        if (!this.#isClosed) abort.abort(cause);
      },
      paused: (reason, detail, scope = "all") => {
        // Deleted first, so that it becomes the newest.
        pauses.delete(reason);
        pauses.set(reason, { detail, scope });
        updateState();
      },
      resumed: (reason) => {
        if (pauses.delete(reason)) updateState();
      },
    };
    const opening = this.#options.open(events).then(
      (session) => {
        clearTimeout(tooLong);
        if (isOver()) return;
        this.#session = session;
        updateState();
      },
      (cause) => abort.abort(cause),
    );
    await Promise.race([ended, opening]);
    const reason = await ended;
    clearTimeout(tooLong);
    this.#session = undefined;
    return reason;
  }

  async #backOff(reason: unknown): Promise<void> {
    const delayMs = Math.round(this.#backoff.nextMs());
    this.#lastFailure = this.#atNode(reasonOf(reason));
    const detail = `${this.#lastFailure}, next try in ${(delayMs / 1000).toFixed(1)} s`;
    this.#setState({ ready: false, detail });
    this.#options.outages.note("away", detail);
    await pause(delayMs, this.#closing.signal);
  }

  /** Messages of network errors name the node already. */
  #atNode(detail: string): string {
    const isNamed = this.#address.split(", ").some((address) => detail.includes(address));
    return isNamed ? detail : `${this.#address}: ${detail}`;
  }

  #setState(state: BusState): void {
    const before = this.#state;
    if (
      before.ready === state.ready &&
      before.isReceiving === state.isReceiving &&
      before.detail === state.detail
    )
      return;
    this.#state = state;
    if (state.ready && !before.ready) {
      this.#lastFailure = "";
      const node = this.#address === "" ? "" : `${this.#address}: `;
      this.#options.outages.noteReady(`${node}${state.detail}`);
    }
    for (const listener of this.#listeners) listener(state);
  }
}

/** The newest pause is shown: an earlier one is often its consequence. Null: there is no pause. */
function pausedState(pauses: Pause[]): BusState | null {
  const newest = pauses.at(-1);
  if (!newest) return null;
  const has = (scope: PauseScope) => pauses.some((pause) => pause.scope === scope);
  const isReceiving = has("publishing") && !has("all");
  return { ready: false, ...(isReceiving ? { isReceiving } : {}), detail: newest.detail };
}
