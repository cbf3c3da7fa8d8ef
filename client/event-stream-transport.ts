import { addressOf, type ConnectRequest, type LinkEvents, type Transport } from "./transport.ts";

/** Frames as server-sent events, and those of the client by `POST`, for networks that refuse WebSockets. */
export const eventStreamTransport: Transport = {
  connect(request, events) {
    const stream = new EventStream(request, events);
    return { transport: "sse", send: (text) => stream.send(text), close: () => stream.close() };
  },
};

/** `EventSource` would present the used code again, and hides why it is refused. */
class EventStream {
  readonly #url: string;
  readonly #events: LinkEvents;
  readonly #aborter = new AbortController();
  /** Names the stream in requests. */
  #name = "";
  /** One request at a time keeps the order of frames. */
  #sending: Promise<void> = Promise.resolve();

  constructor({ url, query }: ConnectRequest, events: LinkEvents) {
    this.#url = url.replace(/\/ws(?=\?|$)/, "/sse");
    this.#events = events;
    this.#read(query).then(
      () => events.closed(1006, ""),
      (error) => events.closed(1006, String(error)),
    );
  }

  /** A frame that is not accepted ends the connection, as on a WebSocket: the client joins its channels again. */
  send(text: string): void {
    const query = `stream=${encodeURIComponent(this.#name)}`;
    this.#sending = this.#sending
      .then(() => this.#fetch(query, { method: "POST", body: text }))
      .then(({ ok, status }) => {
        if (!ok) this.#fail(status === 413 ? 1009 : 1006, `the gateway answered a frame with ${status}`);
      })
      .catch((error) => this.#fail(1006, String(error)));
  }

  close(): void {
    this.#aborter.abort();
  }

  #fail(code: number, reason: string): void {
    this.close();
    this.#events.closed(code, reason);
  }

  #fetch(query: string, init: RequestInit): Promise<Response> {
    const { signal } = this.#aborter;
    return fetch(addressOf({ url: this.#url, query }, "http"), { credentials: "omit", signal, ...init });
  }

  async #read(query: string): Promise<void> {
    const headers = { accept: "text/event-stream" };
    const { ok, status, body } = await this.#fetch(query, { headers, cache: "no-store" });
    if (!ok || !body) throw new Error(`the gateway answered ${status}`);
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) this.#receive(event);
    }
  }

  /** The gateway ends lines with a line feed alone, and fields with a colon and a space. */
  #receive(event: string): void {
    const fieldsOf = (name: string) =>
      event
        .split("\n")
        .filter((line) => line.startsWith(name))
        .map((line) => line.slice(name.length));
    const data = fieldsOf("data: ").join("\n");
    const [name] = fieldsOf("event: ");
    if (name) {
      const { code, closeCode = code, reason } = JSON.parse(data);
      this.#fail(closeCode, reason);
    } else if (data) {
      if (!this.#name) this.#name = JSON.parse(data).stream;
      this.#events.frame(data);
    }
  }
}
