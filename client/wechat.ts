/** WebSockets of WeChat mini programs, for the option `webSocket`. */

import type { SocketClass } from "./websocket-transport.ts";

interface SocketTask {
  onMessage(listener: (event: { data: unknown }) => void): void;
  onClose(listener: (event: { code: number; reason: string }) => void): void;
  onError(listener: (event: { errMsg: string }) => void): void;
  send(options: { data: string }): void;
  close(options: object): void;
}

/** The part of the global `wx` that is needed. */
export interface MiniProgram {
  connectSocket(options: { url: string; protocols: string[] }): SocketTask;
}

/** `new SlipwayPush({ url, code, webSocket: weChatSocket(wx) })` */
export function weChatSocket(wx: MiniProgram): SocketClass {
  return class {
    onmessage: ((event: { data: unknown }) => void) | null = null;
    onclose: ((event: { code: number; reason: string }) => void) | null = null;
    readonly #task: SocketTask;

    constructor(url: string, protocols: string[]) {
      this.#task = wx.connectSocket({ url, protocols });
      this.#task.onMessage((event) => this.onmessage?.(event));
      this.#task.onClose((event) => this.onclose?.(event));
      // A failed handshake is an error without a close.
      this.#task.onError(({ errMsg }) => this.onclose?.({ code: 1006, reason: errMsg }));
    }

    send(data: string): void {
      this.#task.send({ data });
    }

    close(): void {
      this.#task.close({});
    }
  };
}
