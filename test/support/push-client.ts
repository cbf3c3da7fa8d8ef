import { eventually } from "./eventually.ts";
import { ReceivedFrames } from "./received-frames.ts";

/** A WebSocket client that keeps the received frames. */
export class PushClient extends ReceivedFrames {
  readonly socket: WebSocket;
  isOpen = false;

  constructor(url: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    super();
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

  send(text: string | Uint8Array<ArrayBuffer>): void {
    this.socket.send(text);
  }

  close(): void {
    this.socket.close();
  }
}
