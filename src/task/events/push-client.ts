import { deployServiceHeader } from "../../model/console/console-names.ts";
import type { PublishLive } from "./console-messages.ts";

const timeoutMs = 5000;

/** Publishes through `/feign/publish` of a push gateway in another process. */
export function buildPushClient(
  options: { url: string; apiKey: string | undefined },
  send: typeof fetch = fetch,
): PublishLive {
  const address = `${options.url.replace(/\/+$/, "")}/feign/publish`;
  const headers: Record<string, string> = { ...deployServiceHeader, "content-type": "application/json" };
  if (options.apiKey) headers.authorization = `Bearer ${options.apiKey}`;
  return async (to, data, traceparent) => {
    const response = await send(address, {
      method: "POST",
      headers: traceparent === null ? headers : { ...headers, traceparent },
      body: JSON.stringify({ ...to, data }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the push gateway answered ${response.status}: ${text.slice(0, 200)}`);
  };
}
