import type { Clock } from "../../clock.ts";
import type { PushCode, PushCodeKeeper } from "../../model/push-code.ts";
import { hashToken, randomToken } from "../../secrets.ts";
import { type Identity, type OwnCodes, ownCodePrefix } from "./code-verifier.ts";

/** Long enough for a page to connect, short enough that a leaked address is worthless. */
const lifetimeSeconds = 60;

export interface CodeWish {
  userId: string;
  /** For the console: good for temp=1 only, and then without an end of its own. */
  console: boolean;
  /** Names and globs that may be joined; null: push.public-channels. */
  channels: string[] | null;
  /** When the console's session or token ends, and with it what was admitted through it; null: never. */
  endsAt: Date | null;
}

export interface PushCodes {
  issue(wish: CodeWish): Promise<{ code: string; expiresIn: number }>;
  /** Null: the code is unknown, used, expired, or the console's without temp=1. Uses the code up. */
  redeem: OwnCodes;
}

/** Codes of our own: single-use, kept as hashes. */
export function buildPushCodes(keeper: PushCodeKeeper, clock: Clock): PushCodes {
  let nextSweepMs = 0;

  /** Codes that nobody used; now and then, with the work of making a new one. */
  async function sweep(now: number): Promise<void> {
    if (now < nextSweepMs) return;
    nextSweepMs = now + lifetimeSeconds * 1000;
    await keeper.deleteExpired(new Date(now));
  }

  return {
    async issue(wish) {
      const now = clock.now();
      const code = `${ownCodePrefix}${randomToken(32)}`;
      const expiresAtMs = Math.min(now + lifetimeSeconds * 1000, wish.endsAt?.getTime() ?? Infinity);
      await keeper.create({ codeHash: hashToken(code), expiresAt: new Date(expiresAtMs), ...wish });
      // After it: what the code grants was read a moment ago, and a change since then must find the code to recall it.
      await sweep(now);
      return { code, expiresIn: Math.ceil((expiresAtMs - now) / 1000) };
    },
    async redeem({ code, asksTemporary }): Promise<Identity | null> {
      const now = clock.now();
      const held = await keeper.consume(hashToken(code), new Date(now));
      if (held === null || (held.console && !asksTemporary)) return null;
      return {
        userId: held.userId,
        isConsole: held.console,
        isTemporary: asksTemporary,
        maxLifetimeMs: held.console ? lifetimeOf(held, now) : null,
        channels: held.channels,
        joinsChannels: false,
      };
    },
  };
}

/** 0: none. A code does not outlive what it was made with, so that something is always left. */
function lifetimeOf({ endsAt }: PushCode, nowMs: number): number {
  return endsAt === null ? 0 : endsAt.getTime() - nowMs;
}
