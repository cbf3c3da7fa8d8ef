import type { Credentials } from "../account/credential.ts";
import { Fault } from "../errors.ts";
import type { Caller } from "../model/permission.ts";
import { newReason } from "../reason/reason.ts";

export const sessionCookie = "slipway_session";
/** Over https: a browser takes such a cookie from this host alone, and not from a page at another name of the domain. */
const ofHost = "__Host-";
/** The console sends this header with every change. Another origin would need a CORS preflight, which is never allowed. */
export const csrfHeader = "x-slipway-csrf";

/** The result of authenticating a request. Each endpoint decides whether it needs a caller. */
export interface Identity {
  caller: Caller | null;
  via: "bearer" | "cookie" | null;
  /** Why the sent credential was refused. */
  fault: Fault | null;
}

const anonymous: Identity = { caller: null, via: null, fault: null };

export function bearerOf(headers: Headers): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null;
}

/** Reads the credential of a request: the Authorization header, or the console's cookie with protection against CSRF. */
export async function identify(
  request: Request,
  credentials: Credentials,
  ownOrigins: readonly string[],
): Promise<Identity> {
  const via = request.headers.has("authorization") ? "bearer" : "cookie";
  const token = credentialOf(request.headers);
  if (via === "cookie" && !token) return anonymous;
  try {
    if (!token) throw new Fault("unauthenticated", newReason("bearer_form"));
    const caller = await credentials.callerOf(token);
    if (via === "cookie") refuseForgery(request, ownOrigins);
    return { caller, via, fault: null };
  } catch (thrown) {
    if (thrown instanceof Fault) return { caller: null, via, fault: thrown };
    throw thrown;
  }
}

/** The token of a request, from the header or the cookie. */
export function credentialOf(headers: Headers): string | null {
  if (headers.has("authorization")) return bearerOf(headers);
  // Without the prefix it is of plain http, or of a session that version 1.0 opened.
  return cookieOf(headers, ofHost + sessionCookie) ?? cookieOf(headers, sessionCookie);
}

function cookieOf(headers: Headers, wanted: string): string | null {
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === wanted && value) return value;
  }
  return null;
}

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

export function isUnsafe(method: string): boolean {
  return !safeMethods.has(method);
}

/**
 * Protects against CSRF. Browsers add the cookie to requests of other sites too, so a change also needs our header, and
 * its origin must be this site.
 */
export function refuseForgery(request: Request, ownOrigins: readonly string[]): void {
  if (!isUnsafe(request.method)) return;
  if (!request.headers.has(csrfHeader))
    throw new Fault("forbidden", newReason("csrf_header", { header: csrfHeader }));
  const site = request.headers.get("sec-fetch-site");
  if (site === "same-origin" || site === "none") return;
  const origin = request.headers.get("origin");
  if (site === null && (origin === null || isOwnOrigin(origin, request, ownOrigins))) return;
  throw new Fault("forbidden", newReason("other_site"));
}

function isOwnOrigin(origin: string, request: Request, ownOrigins: readonly string[]): boolean {
  if (ownOrigins.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === request.headers.get("host");
}

/** Lax excludes the cookie from cross-site posts; Secure excludes it from plain http. */
export function sessionCookieHeader(token: string, expiresAt: Date, isSecure: boolean): string {
  const rest = `=${token}; Path=/; HttpOnly; SameSite=Lax; Expires=${expiresAt.toUTCString()}`;
  return isSecure ? `${ofHost}${sessionCookie}${rest}; Secure` : `${sessionCookie}${rest}`;
}

/** One for each name that the session may have. */
export function endedCookieHeaders(isSecure: boolean): string[] {
  const ended = sessionCookieHeader("", new Date(0), isSecure);
  return isSecure ? [ended, ended.slice(ofHost.length)] : [ended];
}

/** A cookie for the steps of one sign-in: only requests that the console itself makes carry it. Null ends it. */
export function stepCookieHeader(name: string, value: string | null, ms: number, isSecure: boolean): string {
  const rest = `=${value ?? ""}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${value === null ? 0 : ms / 1000}`;
  return isSecure ? `${ofHost}${name}${rest}; Secure` : `${name}${rest}`;
}

export function stepCookieOf(headers: Headers, name: string, isSecure: boolean): string | null {
  return cookieOf(headers, isSecure ? ofHost + name : name);
}
