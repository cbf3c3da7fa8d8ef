import { eventually } from "./eventually.ts";
import { ReceivedFrames } from "./received-frames.ts";

export interface StreamEvent {
  event: string;
  id: string | null;
  data: string;
}

/** Servers of tests have certificates of their own. */
const tls = { rejectUnauthorized: false };

/** A client of `/sse` that keeps the received frames. */
export class StreamClient extends ReceivedFrames {
  readonly events: StreamEvent[] = [];
  readonly comments: string[] = [];
  /** Last `retry` field. */
  retryMs: number | null = null;
  response: Response | null = null;
  refused: Record<string, unknown> | null = null;
  isEnded = false;
  /** Why the connection was lost. */
  failure = "";
  readonly #url: string;
  /** Whether only the data of the messages is kept. */
  readonly #isPlain: boolean;
  #name = "";
  readonly #abort = new AbortController();

  constructor(url: string, headers: Record<string, string> = {}, isPlain = false) {
    super();
    this.#url = url;
    this.#isPlain = isPlain;
    void this.#read(headers).finally(() => {
      this.isEnded = true;
      this.closed ??= { code: 1006, reason: "" };
    });
  }

  /** Opens and waits until the server has registered the connection. */
  static async open(
    url: string,
    headers: Record<string, string> = {},
    isPlain = false,
  ): Promise<StreamClient> {
    const client = new StreamClient(url, headers, isPlain);
    await eventually(`${url} opens`, () => client.isOpen || client.isEnded);
    if (!client.isOpen)
      throw new Error(`${url} was refused: ${JSON.stringify(client.refused)} ${client.failure}`);
    return client;
  }

  /** A refusal has a longer time. */
  get isOpen(): boolean {
    return this.retryMs !== null && this.retryMs < 60_000;
  }

  /** The last `id` field: what a reconnect presents. */
  get lastEventId(): string {
    return this.events.findLast(({ id }) => id !== null)?.id ?? "";
  }

  /** Sends a frame; `gateway` is the address of another instance. */
  post(text: string | Uint8Array<ArrayBuffer>, gateway = this.#url): Promise<Response> {
    const url = new URL(gateway);
    url.pathname = "/sse";
    url.search = `?stream=${encodeURIComponent(this.#name)}`;
    return fetch(url, { method: "POST", body: text, tls });
  }

  /** Frames are sent one after the other. */
  send(text: string | Uint8Array<ArrayBuffer>): void {
    this.#sending = this.#sending.then(() => this.post(text));
  }
  #sending: Promise<unknown> = Promise.resolve();

  close(): void {
    this.#abort.abort();
  }

  async #read(headers: Record<string, string>): Promise<void> {
    try {
      const { signal } = this.#abort;
      this.response = await fetch(this.#url, {
        headers: { accept: "text/event-stream", ...headers },
        signal,
        tls,
      });
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of this.response.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) this.#receive(block);
      }
    } catch (error) {
      this.failure = String(error);
    }
  }

  #receive(block: string): void {
    const event: StreamEvent = { event: "message", id: null, data: "" };
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const [field = "", value = ""] = line.split(/: (.*)/s);
      if (field === "") this.comments.push(value);
      else if (field === "retry") this.retryMs = Number(value);
      else if (field === "data") data.push(value);
      else if (field === "id") event.id = value;
      else if (field === "event") event.event = value;
    }
    if (data.length === 0) return;
    event.data = data.join("\n");
    this.events.push(event);
    if (event.event === "closed") this.closed = JSON.parse(event.data);
    else if (event.event === "refused") this.refused = JSON.parse(event.data);
    else this.#add(event.data);
  }

  #add(data: string): void {
    const frame = data.startsWith("{") ? (JSON.parse(data) as Record<string, unknown>) : {};
    if (frame.type === "welcome") this.#name = String(frame.stream);
    if (!this.#isPlain) this.frames.push(data);
    else if (frame.type === "message") this.frames.push(String(frame.data));
  }
}
