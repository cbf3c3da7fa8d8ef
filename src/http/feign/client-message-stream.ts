import type { ClientMessages } from "../../push/client-messages.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { fail } from "./feign-envelope.ts";

const maxListeners = 16;
/** A listener with more unread bytes is disconnected, so that memory is bounded. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** Proxies and the runtime end a silent response; readers ignore the empty lines. */
const keepAliveMs = 15_000;

/** A stream of client messages, one JSON object per line, until the listener disconnects. */
export function clientMessageStream(clientMessages: ClientMessages, signal: AbortSignal): Response {
  if (!clientMessages.isAccepting)
    return fail(
      failureCodes.clientMessagesOff,
      "Client messages are not accepted here; set push.accept-client-message.",
    );
  if (clientMessages.listeners >= maxListeners)
    return fail(failureCodes.listenerLimit, `At most ${maxListeners} listeners may be connected at once.`, {
      "retry-after": "5",
    });
  let end = () => {};
  const body = new ReadableStream<string>(
    {
      start(controller) {
        const write = (text: string) => {
          if ((controller.desiredSize ?? 0) < 0) end();
          else controller.enqueue(text);
        };
        const stopListening = clientMessages.listen({
          received: (message) => write(`${JSON.stringify(message)}\n`),
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
    { highWaterMark: maxUnreadBytes, size: (text) => text?.length ?? 0 },
  );
  return new Response(body, {
    headers: { "content-type": "application/x-ndjson", "cache-control": "no-store" },
  });
}
