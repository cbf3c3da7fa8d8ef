import { isProxyHeader } from "./client-address.ts";

/** What is asked of the headers of a /feign request. */
export interface FeignHead {
  contentType: string | null;
  contentLength: string | null;
  idempotencyKey: string | null;
  authorization: string | null;
  apiKey: string | null;
  hasPassedProxy: boolean;
}

/** In one pass: the names that proxies add must be looked for among all anyway, and a question by name costs as much again. */
export function feignHeadOf(headers: Headers): FeignHead {
  const head: FeignHead = {
    contentType: null,
    contentLength: null,
    idempotencyKey: null,
    authorization: null,
    apiKey: null,
    hasPassedProxy: false,
  };
  headers.forEach((value, name) => {
    if (name === "content-type") head.contentType = value;
    else if (name === "content-length") head.contentLength = value;
    else if (name === "idempotency-key") head.idempotencyKey = value;
    else if (name === "authorization") head.authorization = value;
    else if (name === "x-api-key") head.apiKey = value;
    else if (isProxyHeader(name)) head.hasPassedProxy = true;
  });
  return head;
}
