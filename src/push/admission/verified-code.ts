import type { JsonObject } from "../../json.ts";
import { isConsoleUser } from "../../model/console/console-names.ts";
import { isTextList } from "../message/message.ts";
import { isUserId } from "../message/user-id.ts";

/** A code of a handshake. */
export interface VerifyRequest {
  code: string;
  asksTemporary: boolean;
  address: string;
  origin: string | null;
}

/** The result of a valid code, however it was verified: the user, and the rules for the connection. */
export interface VerifiedCode {
  userId: string;
  /** Whether it is a view of the console; only these may join channels of the console. */
  isConsole: boolean;
  isTemporary: boolean;
  /** Maximum lifetime of a temporary connection; 0: unlimited; null: push.temp-max-lifetime. */
  maxLifetimeMs: number | null;
  /** When the code expires, in milliseconds since the epoch; null: never. */
  expiresAtMs: number | null;
  /** Names and globs that the connection may join; null: push.public-channels. */
  channels: readonly string[] | null;
  /** Whether the connection joins the names without wildcards among `channels` at once. */
  joinsChannels: boolean;
}

/** Rules for codes that other services issue or verify. */
export interface ForeignCodeRules {
  /** Whether user ids of the console are refused unless the deploy service returns them. */
  reservesConsoleNames: boolean;
  /** Called when a code was refused because it names a user of the console. */
  onReservedUser: () => void;
  /** Whether `temporary: true` for a client that did not send temp=1 is refused; otherwise the connection is normal. */
  refusesUnaskedTemporary: boolean;
  /** Called when a code was refused for that. */
  onUnaskedTemporary: () => void;
}

/** Reads what another service says about a code. Null: unknown format. */
export function readVerifiedCode(given: JsonObject, asksTemporary: boolean): VerifiedCode | null {
  const userId = userIdOf(given.userId);
  const { temporary, maxLifetime, channels, join } = given;
  const expiresAtMs = timeOf(given.expiresAt);
  if (userId === null) return null;
  if (Number.isNaN(expiresAtMs)) return null;
  if (!isAbsent(temporary) && typeof temporary !== "boolean") return null;
  if (!isAbsent(maxLifetime) && !(typeof maxLifetime === "number" && maxLifetime >= 0)) return null;
  if (!isAbsent(channels) && !isTextList(channels)) return null;
  if (!isAbsent(join) && typeof join !== "boolean") return null;
  return {
    userId,
    isConsole: given.console === true,
    isTemporary: asksTemporary && temporary !== false,
    maxLifetimeMs: typeof maxLifetime === "number" ? maxLifetime * 1000 : null,
    expiresAtMs,
    channels: isTextList(channels) ? channels : null,
    joinsChannels: join !== false,
  };
}

/** Whether the code is refused because it is for a temporary connection and the client did not ask for one. */
export function refusesTemporary(
  { temporary }: JsonObject,
  asksTemporary: boolean,
  { refusesUnaskedTemporary, onUnaskedTemporary }: ForeignCodeRules,
): boolean {
  if (temporary !== true || asksTemporary || !refusesUnaskedTemporary) return false;
  onUnaskedTemporary();
  return true;
}

/**
 * Only the deploy service may name users of the console. For any other service its claim to be the console is ignored, and
 * user ids of the console are refused.
 */
export function withoutConsole(
  verified: VerifiedCode,
  isFromDeployService: boolean,
  { reservesConsoleNames, onReservedUser }: ForeignCodeRules,
): VerifiedCode | "rejected" {
  if (!isConsoleUser(verified.userId)) return { ...verified, isConsole: false };
  if (isFromDeployService && verified.isConsole) return verified;
  if (!reservesConsoleNames) return verified;
  onReservedUser();
  return "rejected";
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Milliseconds since the epoch, or a date and time as text. NaN: neither. */
function timeOf(value: unknown): number | null {
  if (isAbsent(value)) return null;
  if (typeof value === "number") return value;
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}

function userIdOf(value: unknown): string | null {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === "string" && isUserId(text) ? text : null;
}
