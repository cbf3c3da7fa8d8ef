import { closeRuleOf } from "./close-rule.ts";
import type { PushOptions } from "./push-events.ts";

/** After a connection of this length the pauses start with the shortest again. */
const stableMs = 10_000;
/** After this many refused codes in a row the client stops, because the next would be refused too. */
const maxRefusedCodes = 3;
/** For this long after close code 1012 the pauses are short, so that the client returns soon after a gateway that has no others. */
const restartMs = 30_000;
const restartDelayMs = 1500;

/** How long the client waits before its next attempt. */
export class Pauses {
  readonly #options: Required<Pick<PushOptions, "minDelayMs" | "maxDelayMs" | "random">>;
  #failures = 0;
  #refusedCodes = 0;
  #openedAt = 0;
  #restartsUntil = 0;

  constructor(options: Required<Pick<PushOptions, "minDelayMs" | "maxDelayMs" | "random">>) {
    this.#options = options;
  }

  start(): void {
    this.#failures = 0;
    this.#refusedCodes = 0;
  }

  opened(): void {
    this.#refusedCodes = 0;
    this.#restartsUntil = 0;
    this.#openedAt = Date.now();
  }

  /** Null: no further attempt. */
  after(closeCode: number): number | null {
    const { minDelayMs, maxDelayMs, random } = this.#options;
    const rule = closeRuleOf(closeCode);
    if (rule === "stop" || (rule === "newCode" && ++this.#refusedCodes >= maxRefusedCodes)) return null;
    if (this.#openedAt > 0 && Date.now() - this.#openedAt >= stableMs) this.#failures = 0;
    this.#openedAt = 0;
    if (closeCode === 1012) this.#restartsUntil = Date.now() + restartMs;
    // A random moment within the second, so that the clients of a drained server do not all reconnect at once.
    if (rule === "soon") return 1000 * random();
    const isRestarting = Date.now() < this.#restartsUntil;
    const wantedMs = isRestarting ? restartDelayMs : minDelayMs * 2 ** Math.min(this.#failures, 30);
    if (!isRestarting) this.#failures++;
    return Math.min(maxDelayMs, wantedMs) * (0.5 + random() / 2);
  }
}
