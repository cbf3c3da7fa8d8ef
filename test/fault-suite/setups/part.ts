import type { LinkState } from "./link.ts";

/** A process that can be killed, stopped and started. */
export type Role = "server" | "gateway" | "worker" | "runner" | "postgres" | "rabbitmq" | "kafka";

export interface Part {
  readonly name: string;
  readonly role: Role;
  /** Requests an orderly end. */
  readonly politeSignal: NodeJS.Signals;
  /** The main process first, then its worker processes. */
  pids(): number[];
  isRunning(): boolean;
  /** Signals only the main process. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the main process has ended; false: not within the limit. */
  ended(limitMs: number): Promise<boolean>;
  /** Starts without waiting. `environment` and `prefix` apply until the next start. */
  start(change?: StartChange): Promise<void>;
  isReady(): Promise<boolean>;
  /** The last lines of its output. */
  output(): string;
}

export interface StartChange {
  environment?: Record<string, string>;
  /** A command that runs the program. */
  prefix?: string[];
}

/** A server or a gateway: a part with an HTTP interface. */
export interface Instance {
  part: Part;
  /** Its own address, for readiness. */
  url: string;
  /** Through a link, as clients and Git hosts reach it. */
  front: string;
  dataDir: string;
  port: number;
  /** Its links to the database or the broker. */
  upstream: Breakable[];
}

/** A connection, or several that belong together, that a fault can break. */
export interface Breakable {
  readonly name: string;
  set(state: LinkState): void;
}

/** How long a fault lasts, and how long the load rests between two calls: what a run consists of, not a wait for something. */
export function timePasses(ms: number): Promise<void> {
  return Bun.sleep(ms);
}

export async function until(
  isTrue: () => boolean | Promise<boolean>,
  limitMs: number,
  everyMs = 50,
): Promise<boolean> {
  const endAt = performance.now() + limitMs;
  for (;;) {
    if (await isTrue()) return true;
    if (performance.now() > endAt) return false;
    // How often it looks.
    await Bun.sleep(everyMs);
  }
}

export function signalSafely(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
