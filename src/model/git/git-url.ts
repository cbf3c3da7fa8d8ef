import { posix } from "node:path";
import { newReason, type Reason } from "../../reason/reason.ts";

export interface GitUrlRules {
  /** Allow addresses other than https and ssh (tasks.allowLocalRepositories). */
  allowLocal: boolean;
  /** Folder whose repositories are always allowed: `<data.dir>/samples`. */
  samplesDir: string;
  /** Origins of Git servers that may be used over http too (hosts.trusted). */
  trusted: readonly string[];
}

/** Whether an address is at a trusted origin: the same scheme, host and port. */
export function isTrusted(url: string, trusted: readonly string[]): boolean {
  return URL.canParse(url) && trusted.includes(new URL(url).origin);
}

/** What git may use for a clone URL that passes the rules. */
export function gitAccessOf(url: string, rules: GitUrlRules): Pick<GitUrlRules, "allowLocal" | "trusted"> {
  const isPlain = gitUrlFault(url, { ...rules, allowLocal: false, samplesDir: "" }) === null;
  return { allowLocal: !isPlain || rules.allowLocal, trusted: rules.trusted };
}

const maxLength = 2000;
const scpForm = /^(?:[A-Za-z0-9_][\w.-]*@)?[A-Za-z0-9][\w.-]*:(?!\/\/)[^-\s:][^\s]*$/;

/**
 * What is wrong with a clone address, as a sentence that continues "git.url …"; null when it may be used. Git reads an
 * address as an option, a helper program (`ext::`) or a path when it looks like one, so only known forms pass.
 */
export function gitUrlFault(url: string, rules: GitUrlRules): Reason | null {
  if (url === "" || url.length > maxLength) return newReason("characters_between", { limit: maxLength });
  if (/[\s\p{Cc}\\]/u.test(url)) return newReason("url_characters");
  if (url.startsWith("-")) return newReason("url_dash");
  if (url.includes("::")) return newReason("url_helper");
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "file") return urlFault(url, scheme, rules);
  if (scheme === undefined && !url.startsWith("/") && scpForm.test(url)) return bracketFault(url);
  // Git decodes the path of a file:// address, which could lead out of the allowed folder.
  if (scheme === "file" && url.includes("%")) return newReason("url_percent");
  return localFault(scheme === "file" ? url.slice("file://".length) : url, rules);
}

const networkSchemes = ["https", "ssh"];
const localSchemes = [...networkSchemes, "http", "git"];

function urlFault(url: string, scheme: string, rules: GitUrlRules): Reason | null {
  const allowed = rules.allowLocal ? localSchemes : networkSchemes;
  const isTrustedHttp = scheme === "http" && isTrusted(url, rules.trusted);
  if (!allowed.includes(scheme) && !isTrustedHttp)
    return newReason(rules.allowLocal ? "url_scheme" : "url_scheme_local");
  if (!URL.canParse(url)) return newReason("url_invalid");
  if (/^\w+:\/\/[^/]*[%?#]/.test(url)) return newReason("url_before_path");
  const { hostname, username, password } = new URL(url);
  if (hostname === "" || hostname.startsWith("-") || username.startsWith("-")) return newReason("url_host");
  if (password !== "" || (username !== "" && scheme !== "ssh")) return newReason("url_password");
  return bracketFault(url);
}

/** Git decodes an ssh address and takes a bracket at its start, or after any @, for the host; other programs do not. */
function bracketFault(url: string): Reason | null {
  const besideHost = url.replace(/^(\w+:\/\/(?:[^/@[]*@)?)\[[\da-f:.]+\]/i, "$1");
  return /[[\]]|%5[BD]/i.test(besideHost) ? newReason("url_brackets") : null;
}

function localFault(path: string, rules: GitUrlRules): Reason | null {
  if (!path.startsWith("/")) return newReason(rules.allowLocal ? "url_form" : "url_form_local");
  if (posix.normalize(path) !== path.replace(/\/$/, "") && posix.normalize(path) !== path)
    return newReason("url_dots");
  if (rules.allowLocal || path.startsWith(`${posix.normalize(rules.samplesDir).replace(/\/$/, "")}/`))
    return null;
  return newReason(rules.allowLocal ? "url_scheme" : "url_scheme_local");
}

const defaultPorts: Record<string, string> = { https: "443", http: "80", ssh: "22", git: "9418" };

/** The network address in a clone URL. Git and the calls to the host's API must agree on it. */
export interface GitAddress {
  scheme: string;
  host: string;
  port: string;
  path: string;
}

/** Null: a local repository. As in git, the host of the short form `user@host:path` ends at the first colon. */
export function gitAddressOf(url: string): GitAddress | null {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined) {
    const defaultPort = defaultPorts[scheme];
    if (defaultPort === undefined || !URL.canParse(url)) return null;
    const { hostname, port, pathname } = new URL(url);
    return { scheme, host: hostname.toLowerCase(), port: port || defaultPort, path: pathname };
  }
  const short = url.startsWith("/") ? null : /^(?:[^@/:]*@)?([^/:]+):(.*)$/.exec(url);
  if (short === null) return null;
  return { scheme: "ssh", host: (short[1] ?? "").toLowerCase(), port: "22", path: short[2] ?? "" };
}

/**
 * The server in a clone URL: scheme, host and port. Credentials of one server must not be sent to another, so only two
 * spellings of the same server are equal. All local repositories count as one server.
 */
export function gitOriginOf(url: string): string {
  const address = gitAddressOf(url);
  return address === null ? "file://" : `${address.scheme}://${address.host}:${address.port}`;
}
