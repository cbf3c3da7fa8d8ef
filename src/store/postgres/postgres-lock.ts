import type pg from "pg";

const firstPauseMs = 2;
const longestPauseMs = 20;
/** After holding a name this long without a break, this instance pauses once, so that others that poll get in. */
const maxTurnMs = 200;
const turnPauseMs = 30;
/** Names whose turn is remembered; beyond it all start anew. */
const maxTurns = 10_000;

/** Runs `work` in a transaction that holds `name` over all instances; "timeout" when `waitMs` passed first. */
export type RunLocked = <T>(
  name: string,
  waitMs: number,
  work: (client: pg.PoolClient) => Promise<T>,
) => Promise<T | "timeout">;

export interface PostgresLockParts {
  /** Begins a transaction that holds the lock; null while another transaction has it. */
  tryBegin(name: string): Promise<pg.PoolClient | null>;
  /** Runs `work` in the transaction that was begun, and ends it. */
  finish<T>(client: pg.PoolClient, work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
}

/**
 * The lock belongs to the transaction that does the work: a connection that breaks takes lock and work with it, and
 * no other holder notices. Waiting is polling, so that a thousand waiters pin no connection. Within the instance the
 * names are already handed out one holder at a time, in order.
 */
export function buildPostgresLocks({ tryBegin, finish }: PostgresLockParts): RunLocked {
  const turns = new Map<string, { startedMs: number; releasedMs: number }>();

  const pauseForOthers = async (name: string) => {
    const turn = turns.get(name);
    const nowMs = performance.now();
    if (turn !== undefined && nowMs - turn.releasedMs < turnPauseMs) {
      if (nowMs - turn.startedMs < maxTurnMs) return;
      await Bun.sleep(turnPauseMs);
    }
    if (turns.size >= maxTurns) turns.clear();
    turns.set(name, { startedMs: performance.now(), releasedMs: 0 });
  };

  const begin = async (name: string, endAt: number): Promise<pg.PoolClient | null> => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const client = await tryBegin(name);
      if (client !== null) return client;
      const jittered = pauseMs * (0.5 + Math.random() / 2);
      if (performance.now() + jittered > endAt) return null;
      await Bun.sleep(jittered);
    }
  };

  return async (name, waitMs, work) => {
    const endAt = performance.now() + waitMs;
    await pauseForOthers(name);
    const client = await begin(name, endAt);
    if (client === null) return "timeout";
    try {
      return await finish(client, work);
    } finally {
      const turn = turns.get(name);
      if (turn !== undefined) turn.releasedMs = performance.now();
    }
  };
}
