import type pg from "pg";
import { oneAtATime } from "./one-at-a-time.ts";
import { faultOf } from "./postgres-fault.ts";

const firstPauseMs = 2;
const longestPauseMs = 20;
/** After holding a name this long without a break, this instance pauses once, so that others that poll get in. */
const maxTurnMs = 200;
const turnPauseMs = 30;
/** Names whose turn is remembered; beyond it all start anew. */
const maxTurns = 10_000;

export interface PostgresLocks {
  acquire(name: string, waitMs: number): Promise<(() => Promise<void>) | null>;
  close(): Promise<void>;
}

/**
 * Advisory locks of this instance, all on one connection: waiting is polling, so that a thousand waiters pin no
 * connection. Within the instance the names are already handed out one holder at a time, in order. When the
 * connection breaks the server frees its locks; the next holder takes its lock on a new one.
 */
export function buildPostgresLocks({ connect }: { connect: () => Promise<pg.Client> }): PostgresLocks {
  let current: Promise<pg.Client> | null = null;
  const inTurn = oneAtATime();
  const turns = new Map<string, { startedMs: number; releasedMs: number }>();

  const connection = (): Promise<pg.Client> => {
    current ??= connect();
    return current;
  };
  const drop = (broken: Promise<pg.Client> | null) => {
    if (current === broken) current = null;
    void broken?.then((client) => client.end()).catch(() => {});
  };
  const ask = (text: string, name: string): Promise<boolean> =>
    inTurn(async () => {
      const asked = connection();
      try {
        const { rows } = await (await asked).query(text, [name]);
        return rows[0]?.done === true;
      } catch (error) {
        drop(asked);
        throw faultOf(error);
      }
    });

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

  return {
    async acquire(name, waitMs) {
      const endAt = performance.now() + waitMs;
      await pauseForOthers(name);
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
        if (await ask("select pg_try_advisory_lock(hashtextextended($1, 0)) as done", name)) break;
        const jittered = pauseMs * (0.5 + Math.random() / 2);
        if (performance.now() + jittered > endAt) return null;
        await Bun.sleep(jittered);
      }
      return async () => {
        const turn = turns.get(name);
        if (turn !== undefined) turn.releasedMs = performance.now();
        // A failure means that the connection broke, and the lock went with it.
        await ask("select pg_advisory_unlock(hashtextextended($1, 0)) as done", name).catch(() => {});
      };
    },
    async close() {
      const open = current;
      current = null;
      await open?.then((client) => client.end()).catch(() => {});
    },
  };
}
