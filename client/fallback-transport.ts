import type { Link, Transport } from "./transport.ts";

/** So many attempts of the first transport have to fail before the second is tried. */
const maxFailures = 2;
const maxPauseMs = 600_000;

/**
 * Uses `first` while it works, and `second` after two attempts of `first` that did not open. Then `first` is tried beside
 * the open connection now and then, after longer and longer pauses. When it works, the connection ends as that of a server
 * which restarts: the client connects again and resumes, so nothing is lost or repeated.
 */
export function fallbackTransport(first: Transport, second: Transport, firstPauseMs: number): Transport {
  let failures = 0;
  let pauseMs = firstPauseMs;

  function worked(): void {
    failures = 0;
    pauseMs = firstPauseMs;
  }

  return {
    ...first,
    connect(request, events) {
      const usesSecond = failures >= maxFailures;
      let isOpen = false;
      let isEnded = false;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let trial: Link | undefined;

      function tryLater(): void {
        if (isEnded) return;
        timer = setTimeout(() => tryFirst().catch(tryLater), pauseMs);
        pauseMs = Math.min(2 * pauseMs, maxPauseMs);
      }

      async function tryFirst(): Promise<void> {
        const query = await request.renew();
        if (query === null || isEnded) return;
        trial = first.connect(
          { ...request, query },
          {
            frame() {
              if (isEnded) return;
              worked();
              close();
              events.closed(1012, "WebSocket works again");
            },
            closed: tryLater,
          },
        );
      }

      function close(): void {
        isEnded = true;
        clearTimeout(timer);
        trial?.close();
        link.close();
      }

      const link = (usesSecond ? second : first).connect(request, {
        frame(text) {
          if (!isOpen && usesSecond) tryLater();
          else if (!isOpen) worked();
          isOpen = true;
          events.frame(text);
        },
        closed(code, reason) {
          // If both fail, the server may be away: they are tried in turns. With 4000 and above the gateway has answered.
          if (!isOpen && usesSecond) failures = maxFailures - 1;
          else if (!isOpen && code < 4000) failures++;
          close();
          events.closed(code, reason);
        },
      });
      return { transport: link.transport, send: (text) => link.send(text), close };
    },
  };
}
