import { isProxyHeader } from "./client-address.ts";

/** The headers of a /feign or /metrics request that are checked. */
export interface CallHead {
  contentType: string | null;
  contentLength: string | null;
  contentEncoding: string | null;
  idempotencyKey: string | null;
  /** The span of the caller, as W3C Trace Context names it. */
  traceparent: string | null;
  authorization: string | null;
  apiKey: string | null;
  /** Whether the caller claims to be the deploy service. */
  isFromDeployService: boolean;
  hasPassedProxy: boolean;
  /** Whether a web page sent the request: programs send neither Origin nor Sec-Fetch-Site. */
  isFromWebPage: boolean;
  host: string | null;
}

/** One pass over all headers, because finding proxy headers needs it anyway and each lookup by name costs as much. */
export function callHeadOf(headers: Headers): CallHead {
  const head: CallHead = {
    contentType: null,
    contentLength: null,
    contentEncoding: null,
    idempotencyKey: null,
    traceparent: null,
    authorization: null,
    apiKey: null,
    isFromDeployService: false,
    hasPassedProxy: false,
    isFromWebPage: false,
    host: null,
  };
  headers.forEach((value, name) => {
    if (name === "content-type") head.contentType = value;
    else if (name === "content-length") head.contentLength = value;
    else if (name === "content-encoding") head.contentEncoding = value;
    else if (name === "idempotency-key") head.idempotencyKey = value;
    else if (name === "authorization") head.authorization = value;
    else if (name === "x-api-key") head.apiKey = value;
    else if (name === "host") head.host = value;
    else if (name === "origin" || (name === "sec-fetch-site" && isForeign(value))) head.isFromWebPage = true;
    else if (name === "x-slipway-service") head.isFromDeployService = value === "deploy";
    else if (name === "traceparent") head.traceparent = value;
    else if (isProxyHeader(name)) head.hasPassedProxy = true;
  });
  return head;
}

/** Opening the address directly in a browser is not a cross-site request. */
function isForeign(site: string): boolean {
  return site !== "none" && site !== "same-origin";
}
