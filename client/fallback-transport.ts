import type { Link, Transport } from "./transport.ts";

/** After so many upgrades in a row that were refused while plain requests reach the gateway, the second transport is used. */
const maxRefused = 2;
const maxPauseMs = 600_000;

/**
 * Uses `first`, and `second` while the network passes on plain requests and refuses upgrades. A gateway that is away, or that
 * refuses the attempt itself, is no reason for `second`. Beside an open connection of `second`, `first` is tried now
 * and then, after longer and longer pauses. When it works, the connection ends as that of a server
 * which restarts: the client connects again and resumes, so nothing is lost or repeated.
 */
export function fallbackTransport(first: Transport, second: Transport, firstPauseMs: number): Transport {
  let refused = 0;
  let pauseMs = firstPauseMs;

  function worked(): void {
    refused = 0;
    pauseMs = firstPauseMs;
  }

  return {
    ...first,
    connect(request, events) {
      const usesSecond = refused >= maxRefused;
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
        closed(code, reason, isUpgradeRefused) {
          if (isUpgradeRefused) refused++;
          // With 4100 the gateway refuses attempts of either kind; otherwise both are tried in turns.
          else if (usesSecond && !isOpen) refused = code === 4100 ? 0 : maxRefused - 1;
          close();
          events.closed(code, reason);
        },
      });
      return { transport: link.transport, send: (text) => link.send(text), close };
    },
  };
}
