import { type LookupAddress, lookup } from "node:dns";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isInternalAddress } from "./internal-address.ts";

export interface GuardedRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The address is one that must not be called; trying again would not change that. */
export class ForbiddenAddress extends Error {
  override readonly name = "ForbiddenAddress";
}

const answerMaxBytes = 64 * 1024;

/**
 * Posts to an address that people of the outside chose. The name is resolved once and the connection goes to the
 * address that was checked, so that a second answer of the name server cannot lead inside; redirects are not followed.
 * Answers the status.
 */
export function postGuarded(
  request: GuardedRequest,
  options: { allowInternal: boolean; timeoutMs: number },
): Promise<number> {
  const url = new URL(request.url);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return Promise.reject(new ForbiddenAddress(`${url.protocol} is not http or https`));
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(hostname) !== 0 && !options.allowInternal && isInternalAddress(hostname))
    return Promise.reject(forbidden(hostname));

  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = url.protocol === "https:" ? https.request : http.request;
  const outgoing = send(
    url,
    {
      method: "POST",
      headers: { ...request.headers, "content-length": Buffer.byteLength(request.body) },
      agent: false,
      lookup: checkedLookup(options.allowInternal),
      signal: AbortSignal.timeout(options.timeoutMs),
    },
    (response) => {
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > answerMaxBytes) response.destroy();
      });
      response.on("close", () => resolve(response.statusCode ?? 0));
      response.on("error", reject);
    },
  );
  outgoing.on("error", reject);
  outgoing.end(request.body);
  return promise;
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
  return new ForbiddenAddress(
    `${address} is an internal address; tasks.allowInternalNotifications would allow it`,
  );
}
