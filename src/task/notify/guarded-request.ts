import { type LookupAddress, lookup } from "node:dns";
import type { IncomingHttpHeaders } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { ReasonError } from "../../errors.ts";
import { isInternalAddress } from "../../internal-address.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

export interface GuardedRequest {
  /** Absent: POST. */
  method?: "GET" | "PATCH" | "PUT" | "DELETE";
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The address must not be called; a retry would not change that. */
export class ForbiddenAddress extends ReasonError {
  override readonly name = "ForbiddenAddress";
}

export interface OutgoingAnswer {
  status: number;
  /** Its beginning: 64 KB unless the caller asks for more. */
  body: string;
}

export interface GuardedAnswer extends OutgoingAnswer {
  headers: IncomingHttpHeaders;
}

export interface GuardOptions {
  /** Allow internal addresses everywhere. */
  allowInternal: boolean;
  /** Allow internal addresses at these origins. */
  trusted?: readonly string[];
  timeoutMs: number;
  maxAnswerBytes?: number;
}

const answerMaxBytes = 64 * 1024;

/**
 * Calls an address that a project's manager chose. The name is resolved once and the connection goes to the checked
 * address, so that a second DNS answer cannot lead to an internal one; redirects are not followed.
 */
export function sendGuarded(request: GuardedRequest, options: GuardOptions): Promise<GuardedAnswer> {
  const url = new URL(request.url);
  const allowInternal = options.allowInternal || options.trusted?.includes(url.origin) === true;
  const fault = addressFault(request.url, allowInternal);
  if (fault !== null) return Promise.reject(new ForbiddenAddress(fault));

  const { maxAnswerBytes = answerMaxBytes } = options;
  const hasBody = request.method !== "GET" && request.method !== "DELETE";
  const { promise, resolve, reject } = Promise.withResolvers<GuardedAnswer>();
  // Loaded only here: a server that calls nobody starts faster without them.
  const { request: send } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const outgoing = send(
    url,
    {
      method: request.method ?? "POST",
      headers: hasBody
        ? { ...request.headers, "content-length": Buffer.byteLength(request.body) }
        : request.headers,
      agent: false,
      lookup: checkedLookup(allowInternal),
      signal: AbortSignal.timeout(options.timeoutMs),
    },
    (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) response.destroy();
      });
      response.on("close", () => {
        const body = Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
      response.on("error", reject);
    },
  );
  outgoing.on("error", reject);
  outgoing.end(hasBody ? request.body : undefined);
  return promise;
}

/** Why no call can be made to an address, as far as the address itself tells; a name is resolved for each call. */
export function addressFault(address: string, allowInternal: boolean): Reason | null {
  const { protocol, hostname } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:") return newReason("address_not_http", { protocol });
  const host = hostname.replace(/^\[|\]$/g, "");
  if (allowInternal || isIP(host) === 0 || !isInternalAddress(host)) return null;
  return newReason("address_internal", { address: host });
}

function checkedLookup(allowInternal: boolean): LookupFunction {
  return (hostname, lookupOptions, callback) => {
    lookup(hostname, { all: true, verbatim: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, "", 0);
      const bad = allowInternal ? undefined : addresses.find(({ address }) => isInternalAddress(address));
      const first = addresses[0];
      if (bad || !first) return callback(forbidden(bad?.address ?? hostname), "", 0);
      if (lookupOptions.all) return callback(null, [first]);
      callback(null, first.address, first.family);
    });
  };
}

function forbidden(address: string): ForbiddenAddress {
  return new ForbiddenAddress(newReason("address_internal", { address }));
}
