import { eventually } from "./eventually.ts";

export interface Closed {
  code: number;
  reason: string;
}

/** A WebSocket client that keeps the received frames. */
export class PushClient {
  readonly frames: string[] = [];
  readonly socket: WebSocket;
  closed: Closed | null = null;
  isOpen = false;

  constructor(url: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url, { protocols, headers } as never);
    this.socket.onopen = () => {
      this.isOpen = true;
    };
    this.socket.onmessage = (event) => this.frames.push(String(event.data));
    this.socket.onclose = (event) => {
      this.closed = { code: event.code, reason: event.reason };
    };
  }

  /** Opens and waits until the server has registered the connection. */
  static async open(
    url: string,
    protocols: string[] = [],
    headers: Record<string, string> = {},
  ): Promise<PushClient> {
    const client = new PushClient(url, protocols, headers);
    await eventually(`${url} opens`, () => client.isOpen || client.closed !== null);
    if (!client.isOpen) throw new Error(`${url} was refused.`);
    return client;
  }

  /** Frames of `slipway.v1`, parsed. */
  get parsed(): Record<string, unknown>[] {
    return this.frames.map((frame) => JSON.parse(frame) as Record<string, unknown>);
  }

  ofType(type: string): Record<string, unknown>[] {
    return this.parsed.filter((frame) => frame.type === type);
  }

  /** Data of the pushed messages of a `slipway.v1` client, in order. */
  get messages(): string[] {
    return this.ofType("message").map((frame) => String(frame.data));
  }

  async received(count: number): Promise<string[]> {
    await eventually(`${count} frames arrive (has ${this.frames.length})`, () => this.frames.length >= count);
    return this.frames;
  }

  async receivedType(type: string, count = 1): Promise<Record<string, unknown>[]> {
    await eventually(`${count} frames of type ${type}`, () => this.ofType(type).length >= count);
    return this.ofType(type);
  }

  async ended(deadlineMs?: number): Promise<Closed> {
    await eventually("the connection closes", () => this.closed !== null, deadlineMs);
    return this.closed ?? { code: 0, reason: "" };
  }

  send(text: string | Uint8Array<ArrayBuffer>): void {
    this.socket.send(text);
  }

  close(): void {
    this.socket.close();
  }
}
