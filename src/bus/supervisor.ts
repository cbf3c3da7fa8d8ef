import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { BusState } from "./bus.ts";
import { reasonOf } from "./failure-reason.ts";

/** What an open session tells its supervisor. Calls after the session has ended are ignored. */
export interface SessionEvents {
  /** The session is over; a new one is opened. */
  broken(reason: unknown): void;
  /** Connected, but not usable for now: until `resumed` was called for this and every other reason. */
  paused(reason: string, detail: string): void;
  resumed(reason: string): void;
  /** Opening makes progress: its time limit starts again. */
  progressed(): void;
  /** Aborted when the session must give up, also while it is still being opened. */
  signal: AbortSignal;
}

interface Closeable {
  close(): Promise<void>;
}

export interface SupervisorOptions<Session extends Closeable> {
  /** Connects, declares and consumes. Cleans up after itself when it fails or when the signal is aborted. */
  open(events: SessionEvents): Promise<Session>;
  readyDetail: string;
  log: Log;
  clock: Clock;
  random(): number;
  openTimeoutMs: number;
  minDelayMs: number;
  maxDelayMs: number;
}

/** A session that lived this long was a good one: the next failure starts again with the shortest wait. */
const stableMs = 5_000;
const logAgainMs = 60_000;

/** Keeps one session open for ever: opens, waits until it breaks, backs off with jitter, opens again. */
export class Supervisor<Session extends Closeable> {
  readonly #options: SupervisorOptions<Session>;
  readonly #listeners: ((state: BusState) => void)[] = [];
  #state: BusState = { ready: false, detail: "not started" };
  #session: Session | undefined;
  #current: AbortController | undefined;
  #wake: (() => void) | undefined;
  #isClosed = false;
  #loop: Promise<void> | undefined;
  #loggedFailureAt = Number.NEGATIVE_INFINITY;

  constructor(options: SupervisorOptions<Session>) {
    this.#options = options;
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

  /** The open session, only while it is usable. */
  session(): Session | undefined {
    return this.#state.ready ? this.#session : undefined;
  }

  /** Ends the session as if it had broken by itself: for those who see that the broker has gone silent. */
  break(reason: unknown): void {
    this.#current?.abort(reason);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const session = this.#session;
    this.#change({ ready: false, detail: "closed" });
    this.#session = undefined;
    await session?.close();
    this.#current?.abort(new Error("closed"));
    this.#wake?.();
    await this.#loop;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#isClosed) {
      const openedAt = this.#options.clock.now();
      const reason = await this.#runSession();
      if (this.#isClosed) return;
      failures = this.#options.clock.now() - openedAt >= stableMs ? 0 : failures + 1;
      await this.#pauseAfter(reason, failures);
    }
  }

  /** Answers why the session ended. */
  async #runSession(): Promise<unknown> {
    const abort = new AbortController();
    this.#current = abort;
    const ended = new Promise<unknown>((resolve) => {
      abort.signal.addEventListener("abort", () => resolve(abort.signal.reason), { once: true });
    });
    const giveUp = () => abort.abort(new Error("the broker did not answer in time"));
    const tooLong = setTimeout(giveUp, this.#options.openTimeoutMs);
    // Set before `open` returns: a session may say that it is paused while it is being opened.
    const pauses = new Map<string, string>();
    const isOver = () => abort.signal.aborted || this.#isClosed;
    const show = () => {
      if (isOver() || !this.#session) return;
      const [pausedDetail] = pauses.values();
      this.#change(
        pausedDetail === undefined
          ? { ready: true, detail: this.#options.readyDetail }
          : { ready: false, detail: pausedDetail },
      );
    };
    const events: SessionEvents = {
      signal: abort.signal,
      // A session that is being closed loses its channels one after the other; that is no accident.
      broken: (cause) => {
        if (!this.#isClosed) abort.abort(cause);
      },
      paused: (reason, detail) => {
        pauses.set(reason, detail);
        show();
      },
      progressed: () => {
        if (!this.#session && !isOver()) tooLong.refresh();
      },
      resumed: (reason) => {
        if (pauses.delete(reason)) show();
      },
    };
    const opening = this.#options.open(events).then(
      (session) => {
        clearTimeout(tooLong);
        if (isOver()) return;
        this.#session = session;
        show();
      },
      (cause) => abort.abort(cause),
    );
    await Promise.race([ended, opening]);
    const reason = await ended;
    clearTimeout(tooLong);
    this.#session = undefined;
    return reason;
  }

  async #pauseAfter(reason: unknown, failures: number): Promise<void> {
    const { minDelayMs, maxDelayMs, random } = this.#options;
    const ceiling = Math.min(maxDelayMs, minDelayMs * 2 ** Math.min(failures, 16));
    const delayMs = Math.round(ceiling * (0.5 + random() / 2));
    const wasReady = this.#state.ready;
    const detail = `${reasonOf(reason)}, next try in ${(delayMs / 1000).toFixed(1)} s`;
    this.#change({ ready: false, detail });
    this.#logFailure(detail, wasReady);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** An outage is one line at its start and one a minute, not one per attempt. */
  #logFailure(detail: string, wasReady: boolean): void {
    const now = this.#options.clock.now();
    if (!wasReady && now - this.#loggedFailureAt < logAgainMs) return;
    this.#loggedFailureAt = now;
    this.#options.log.warn({ detail }, "the message queue is not available");
  }

  #change(state: BusState): void {
    const before = this.#state;
    if (before.ready === state.ready && before.detail === state.detail) return;
    this.#state = state;
    if (state.ready && !before.ready) {
      this.#loggedFailureAt = Number.NEGATIVE_INFINITY;
      this.#options.log.info({ detail: state.detail }, "the message queue is ready");
    }
    for (const listener of this.#listeners) listener(state);
  }
}
