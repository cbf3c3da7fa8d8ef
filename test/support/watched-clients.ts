import { SlipwayPush } from "../../client/slipway-push.ts";
import { webSocketTransport } from "../../client/websocket-transport.ts";

/** Accepts the certificate of a test. */
class TestSocket extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, { protocols, tls: { rejectUnauthorized: false } } as never);
  }
}

interface WatchedClient {
  push: SlipwayPush;
  wasOpen: boolean;
  /** When it lost its connection; null: it has one. */
  lostAtMs: number | null;
  numbers: Set<number>;
}

/** Many clients of the product, each with its gaps between two connections and the numbers that it received. */
export class WatchedClients {
  readonly #clients: WatchedClient[] = [];
  /** Lengths of all gaps between two connections that have ended, in milliseconds. */
  readonly gapsMs: number[] = [];
  /** Reconnects of which the gateway did not say that nothing is missing. */
  unrecovered = 0;

  /** Each client needs a code of its own. */
  open(count: number, url: string, codeOf: (client: number) => string): void {
    for (let index = 0; index < count; index++) {
      const push = new SlipwayPush({
        url,
        code: () => codeOf(index),
        transport: webSocketTransport(TestSocket),
      });
      const client: WatchedClient = { push, wasOpen: false, lostAtMs: null, numbers: new Set() };
      push.on("status", ({ state }) => {
        if (state === "waiting" && client.wasOpen) client.lostAtMs ??= performance.now();
      });
      push.on("open", ({ recovered }) => {
        if (client.lostAtMs !== null) this.gapsMs.push(performance.now() - client.lostAtMs);
        client.lostAtMs = null;
        client.wasOpen = true;
        if (!recovered) this.unrecovered++;
      });
      push.on("message", ({ data }) => client.numbers.add(Number(data)));
      this.#clients.push(client);
      push.open();
    }
  }

  get opened(): number {
    return this.#clients.filter(({ push }) => push.status.state === "open").length;
  }

  /** How many clients have received less than every number below `count`. */
  incomplete(count: number): number {
    return this.#clients.filter(({ numbers }) => numbers.size < count).length;
  }

  close(): void {
    for (const { push } of this.#clients) push.close();
  }
}
