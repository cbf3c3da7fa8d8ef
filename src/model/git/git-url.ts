import { posix } from "node:path";

export interface GitUrlRules {
  /** Allow addresses other than https and ssh (tasks.allowLocalRepositories). */
  allowLocal: boolean;
  /** Folder whose repositories are always allowed: `<data.dir>/samples`. */
  samplesDir: string;
}

const maxLength = 2000;
const scpForm = /^(?:[A-Za-z0-9_][\w.-]*@)?[A-Za-z0-9][\w.-]*:(?!\/\/)[^-\s:][^\s]*$/;

/**
 * What is wrong with a clone address, as a sentence that continues "git.url …"; null when it may be used. Git reads an
 * address as an option, a helper program (`ext::`) or a path when it looks like one, so only known forms pass.
 */
export function gitUrlFault(url: string, rules: GitUrlRules): string | null {
  if (url === "" || url.length > maxLength) return `must have 1 to ${maxLength} characters`;
  if (/[\s\p{Cc}\\]/u.test(url)) return "must not have spaces, backslashes or control characters";
  if (url.startsWith("-")) return "must not start with a dash";
  if (url.includes("::")) return "must not name a transport helper (::)";
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "file") return urlFault(url, scheme, rules);
  if (scheme === undefined && !url.startsWith("/") && scpForm.test(url)) return null;
  // Git decodes the path of a file:// address, which could lead out of the allowed folder.
  if (scheme === "file" && url.includes("%")) return "must be a plain path without %";
  return localFault(scheme === "file" ? url.slice("file://".length) : url, rules);
}

const networkSchemes = ["https", "ssh"];
const localSchemes = [...networkSchemes, "http", "git"];

function urlFault(url: string, scheme: string, rules: GitUrlRules): string | null {
  const allowed = rules.allowLocal ? localSchemes : networkSchemes;
  if (!allowed.includes(scheme)) return `must start with https:// or ssh://${hint(rules)}`;
  if (!URL.canParse(url)) return "is no URL";
  if (/^\w+:\/\/[^/]*[%?#]/.test(url)) return "must not have % ? or # before its path";
  const { hostname, username, password } = new URL(url);
  if (hostname === "" || hostname.startsWith("-") || username.startsWith("-")) return "has no usable host";
  if (password !== "" || (username !== "" && scheme !== "ssh"))
    return "must not carry a user or password; store it with PUT /api/projects/<id>/credential";
  return null;
}

function localFault(path: string, rules: GitUrlRules): string | null {
  if (!path.startsWith("/"))
    return `must be an https or ssh address such as https://git.example.com/shop.git${hint(rules)}`;
  if (posix.normalize(path) !== path.replace(/\/$/, "") && posix.normalize(path) !== path)
    return "must be a plain path without . or .. in it";
  if (rules.allowLocal || path.startsWith(`${posix.normalize(rules.samplesDir).replace(/\/$/, "")}/`))
    return null;
  return `must start with https:// or ssh://${hint(rules)}`;
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

function hint(rules: GitUrlRules): string {
  return rules.allowLocal
    ? ""
    : "; for other addresses set tasks.allowLocalRepositories: true in slipway.yaml and restart the server";
}
