import type { LinkState } from "./link.ts";

/** What can be killed, stopped and started. */
export type Role = "server" | "gateway" | "runner" | "postgres" | "rabbitmq" | "kafka";

export interface Part {
  readonly name: string;
  readonly role: Role;
  /** Asks it to end in order. */
  readonly politeSignal: NodeJS.Signals;
  /** The main process first, then those that do its work. */
  pids(): number[];
  isRunning(): boolean;
  /** To the main process alone. */
  signal(signal: NodeJS.Signals): void;
  /** When the main process is gone; false: not within the limit. */
  ended(limitMs: number): Promise<boolean>;
  /** Begins to start it. `environment` and `prefix` change how it runs until its next start. */
  start(change?: StartChange): Promise<void>;
  isReady(): Promise<boolean>;
  /** The last lines that it wrote, for people. */
  output(): string;
}

export interface StartChange {
  environment?: Record<string, string>;
  /** A command in front of the program. */
  prefix?: string[];
}

/** A server or a gateway: a part that answers HTTP. */
export interface Instance {
  part: Part;
  /** Its own address, for readiness. */
  url: string;
  /** Through a link, as clients and Git hosts reach it. */
  front: string;
  dataDir: string;
  port: number;
  /** The ways to the database or the broker that it needs. */
  upstream: Breakable[];
}

/** A connection, or several that belong together, that a fault can break. */
export interface Breakable {
  readonly name: string;
  set(state: LinkState): void;
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
    await Bun.sleep(everyMs);
  }
}

export function signalSafely(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}
