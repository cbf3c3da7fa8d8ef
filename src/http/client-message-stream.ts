import type { ClientMessages } from "../push/client-messages.ts";
import { fail } from "./feign/feign-envelope.ts";

const maxListeners = 16;
/** A listener that is further behind is cut off, rather than fed from a growing buffer. */
const maxBehindBytes = 4 * 1024 * 1024;
/** Proxies and the runtime cut a silent response; an empty line is no message. */
const keepAliveMs = 15_000;

/** Client messages as they come, one JSON object a line, until the listener goes away. */
export function clientMessageStream(clientMessages: ClientMessages, signal: AbortSignal): Response {
  if (!clientMessages.isAccepting)
    return fail(409, 40902, "Client messages are not accepted here; set push.accept-client-message.");
  if (clientMessages.listeners >= maxListeners)
    return fail(429, 42903, `At most ${maxListeners} may listen at once.`, { "retry-after": "5" });
  let end = () => {};
  const body = new ReadableStream<string>(
    {
      start(controller) {
        const write = (text: string) => {
          if ((controller.desiredSize ?? 0) < 0) end();
          else controller.enqueue(text);
        };
        const stopListening = clientMessages.listen({
          heard: (message) => write(`${JSON.stringify(message)}\n`),
          ended: () => end(),
        });
        const timer = setInterval(() => write("\n"), keepAliveMs);
        end = () => {
          clearInterval(timer);
          stopListening();
          end = () => {};
          controller.close();
        };
        signal.addEventListener("abort", () => end());
        write("\n");
      },
      cancel() {
        end();
      },
    },
    { highWaterMark: maxBehindBytes, size: (text) => text?.length ?? 0 },
  );
  return new Response(body, {
    headers: { "content-type": "application/x-ndjson", "cache-control": "no-store" },
  });
}
