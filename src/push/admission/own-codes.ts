import type { Clock } from "../../clock.ts";
import type { PushCode, PushCodeKeeper } from "../../model/push-code.ts";
import { hashToken, randomToken } from "../../secrets.ts";
import { type OwnCodes, ownCodePrefix } from "./verification-order.ts";
import type { VerifiedCode } from "./verified-code.ts";

/** Long enough for a page to connect, short enough that a leaked URL is worthless. */
const lifetimeSeconds = 60;

export interface NewPushCode {
  userId: string;
  /** For the console: valid with temp=1 only; the connection then ends at `endsAt`. */
  console: boolean;
  /** Names and globs that the connection may join; null: push.public-channels. */
  channels: string[] | null;
  /** When the session or token that requested the code ends; connections of the console end with it. Null: never. */
  endsAt: Date | null;
}

export interface PushCodes {
  issue(newCode: NewPushCode): Promise<{ code: string; expiresIn: number }>;
  /** Uses the code up. Null: the code is unknown, used or expired, or a code for the console without temp=1. */
  redeem: OwnCodes;
}

/** Single-use codes that Slipway issues, stored as hashes. */
export function buildPushCodes(keeper: PushCodeKeeper, clock: Clock): PushCodes {
  let nextSweepMs = 0;

  /** Deletes unused codes; called when a code is issued, at most once per lifetime of a code. */
  async function deleteExpired(now: number): Promise<void> {
    if (now < nextSweepMs) return;
    nextSweepMs = now + lifetimeSeconds * 1000;
    await keeper.deleteExpired(new Date(now));
  }

  return {
    async issue(newCode) {
      const now = clock.now();
      const code = `${ownCodePrefix}${randomToken(32)}`;
      const expiresAtMs = Math.min(now + lifetimeSeconds * 1000, newCode.endsAt?.getTime() ?? Infinity);
      await keeper.create({ codeHash: hashToken(code), expiresAt: new Date(expiresAtMs), ...newCode });
      // After `create`: a change of what the code grants must find the code soon, to recall it.
      await deleteExpired(now);
      return { code, expiresIn: Math.ceil((expiresAtMs - now) / 1000) };
    },
    async redeem({ code, asksTemporary }): Promise<VerifiedCode | null> {
      const now = clock.now();
      const stored = await keeper.consume(hashToken(code), new Date(now));
      if (stored === null || (stored.console && !asksTemporary)) return null;
      return {
        userId: stored.userId,
        isConsole: stored.console,
        isTemporary: asksTemporary,
        maxLifetimeMs: stored.console ? lifetimeOf(stored, now) : null,
        expiresAtMs: null,
        channels: stored.channels,
        joinsChannels: false,
      };
    },
  };
}

/** 0: unlimited. Otherwise above 0, because a code expires before `endsAt`. */
function lifetimeOf({ endsAt }: PushCode, nowMs: number): number {
  return endsAt === null ? 0 : endsAt.getTime() - nowMs;
}
