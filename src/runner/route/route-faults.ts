import { X509Certificate } from "node:crypto";
import { lookup } from "node:dns/promises";
import { existsSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { type Route, type RouteReport, routeUrl } from "../../model/service/route.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { openFileTail } from "./file-tail.ts";
import type { ServedRoute } from "./served-route.ts";

export interface RouteFaultsOptions {
  /** Folder of the proxy's certificates; null: it has none. */
  folder: string | null;
  serverLog: string;
  ports: { http: number; https: number };
}

/** How long what the name servers said is believed. */
const resolvedForMs = 5 * 60_000;
const lookupMax = 8;

/** What keeps users from a route, as far as the runner can see. */
export function openRouteFaults({ folder, serverLog, ports }: RouteFaultsOptions) {
  const addresses = new Map<string, { at: number; found: string[] | null }>();
  /** What the authority said last of a domain that has no certificate. */
  const refusals = new Map<string, string>();
  const tail = openFileTail(serverLog, "start");
  let untilOf = new Map<string, Date>();

  async function resolve(domain: string): Promise<void> {
    const found = await lookup(domain, { all: true }).catch(() => null);
    addresses.set(domain, { at: Date.now(), found: found?.map(({ address }) => address) ?? null });
  }

  function readRefusals(): void {
    for (const line of tail.lines()) {
      const entry = parse(line);
      if (entry === null || !entry.logger.startsWith("tls")) continue;
      if (entry.msg === "certificate obtained successfully") refusals.delete(entry.identifier);
      else if (entry.error !== "" && entry.identifier !== "") refusals.set(entry.identifier, entry.error);
    }
  }

  function readCertificates(): void {
    if (folder === null) return;
    const found = new Map<string, Date>();
    const cwd = join(folder, "data");
    // A Caddy that has no certificates yet has not made it.
    const files = existsSync(cwd)
      ? new Glob("certificates/*/*/*.crt").scanSync({ cwd, onlyFiles: true })
      : [];
    for (const file of files)
      try {
        const { validTo, subjectAltName = "" } = new X509Certificate(readFileSync(join(cwd, file)));
        for (const name of subjectAltName.split(", ")) {
          const until = new Date(validTo);
          const domain = name.replace(/^DNS:/, "");
          if (until > (found.get(domain) ?? new Date(0))) found.set(domain, until);
        }
      } catch {
        // It is being replaced.
      }
    untilOf = found;
  }

  /** What the name servers say is wrong. Behind a router the address is another one: a certificate shows that requests arrive. */
  function nameFault(domain: string, tls: Route["tls"], hasCertificate: boolean): Reason | null {
    const { found = [] } = addresses.get(domain) ?? {};
    if (found === null) return newReason("route_unresolved", { domain });
    if (tls !== "auto" || hasCertificate || found.length === 0) return null;
    const own = ownAddresses();
    return found.some((address) => own.has(address))
      ? null
      : newReason("route_elsewhere", { domain, addresses: found.join(", "), ...ports });
  }

  /** Both: the name is often why the authority refused. */
  function faultOf(domain: string, tls: Route["tls"]): Reason | null {
    const hasCertificate = (untilOf.get(domain)?.getTime() ?? 0) > Date.now();
    const refusal = tls === "auto" && !hasCertificate ? refusals.get(domain) : undefined;
    const faults = [
      ...(refusal === undefined
        ? []
        : [newReason("route_refused", { domain, found: refusal.slice(0, 800) })]),
      ...[nameFault(domain, tls, hasCertificate) ?? []].flat(),
    ];
    return faults.length === 0 ? null : faults;
  }

  return {
    async look(routes: readonly ServedRoute[]): Promise<void> {
      readRefusals();
      readCertificates();
      const names = [...new Set(routes.map(({ domain }) => domain))].filter((name) => !name.startsWith("*"));
      const old = names.filter((name) => Date.now() - (addresses.get(name)?.at ?? 0) > resolvedForMs);
      for (let first = 0; first < old.length; first += lookupMax)
        await Promise.all(old.slice(first, first + lookupMax).map(resolve));
    },
    /** `shared`: what is wrong with all routes. */
    report(route: Route, shared: Reason | null): RouteReport[] {
      const { path, tls } = route;
      return route.domains.map((domain) => {
        const fault = shared ?? faultOf(domain, tls);
        return {
          ...{ domain, path, url: routeUrl(route, { domain, path }) },
          fault: fault === null ? null : reasonJson({ reason: fault }),
          certificateUntil: tls === "off" ? null : (untilOf.get(domain)?.toISOString() ?? null),
        };
      });
    },
  };
}

function ownAddresses(): Set<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  );
}

function parse(line: string): Record<"logger" | "msg" | "identifier" | "error", string> | null {
  try {
    const {
      logger = "",
      msg = "",
      identifier = "",
      error = "",
    } = JSON.parse(line) as Record<string, unknown>;
    return { logger: String(logger), msg: String(msg), identifier: String(identifier), error: String(error) };
  } catch {
    return null;
  }
}
