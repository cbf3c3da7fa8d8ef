import type { Admission } from "./admission/admission.ts";
import type { Expiry } from "./admission/expiry.ts";
import type { VerifiedCode } from "./admission/verified-code.ts";
import type { Channels } from "./connection/channels.ts";
import { endOf, type Socket } from "./connection/connection.ts";
import { grantsOf, isPlainName } from "./connection/grants.ts";
import type { SendBuffers } from "./fanout/send-buffer.ts";
import { errorFrame, joinedFrame, leftFrame, refreshedFrame, refreshFrame } from "./message/frames.ts";

export interface RefreshParts {
  admission: Pick<Admission, "verifyAgain">;
  channels: Channels;
  expiry: Expiry;
  sendBuffers: SendBuffers;
  wallTimeOf: (steadyMs: number) => number;
}

/** After a refused code a connection may present another one this much later. */
const pauseMs = 1000;

const refusalTexts = {
  refresh_not_asked: "A new code is presented when the server asks for one, one at a time.",
  refresh_rejected: "The new code was not accepted; the connection ends when its code expires.",
  refresh_unavailable: "The new code could not be verified now; present another one later.",
};

/** New codes on open connections: the server asks, the client presents one, and the connection goes on under it. */
export class Refreshes {
  readonly #parts: RefreshParts;
  /** Connections whose code is being verified, or was refused less than the pause ago. */
  readonly #busy = new Set<Socket>();

  constructor(parts: RefreshParts) {
    this.#parts = parts;
  }

  ask(socket: Socket): void {
    this.#send(socket, refreshFrame(this.#parts.wallTimeOf(endOf(socket.data))));
  }

  /** Never rejects. The code must be for the same user and the same kind of connection. */
  async present(socket: Socket, code: string): Promise<void> {
    const { data } = socket;
    const isAsked = data.expiresAtMs > 0 && data.refreshAtMs === 0;
    if (!isAsked || this.#busy.has(socket)) return this.#refuse(socket, "refresh_not_asked");
    this.#busy.add(socket);
    const verified = await this.#parts.admission.verifyAgain({
      code,
      asksTemporary: data.kind === "temporary",
      address: socket.remoteAddress,
      origin: null,
    });
    const accepted = typeof verified !== "string" && isSame(socket, verified) ? verified : null;
    if (accepted) this.#busy.delete(socket);
    else setTimeout(() => this.#busy.delete(socket), pauseMs).unref();
    if (socket.readyState !== WebSocket.OPEN) return;
    if (accepted) this.#accept(socket, accepted);
    else this.#refuse(socket, verified === "verify_unavailable" ? "refresh_unavailable" : "refresh_rejected");
  }

  #accept(socket: Socket, verified: VerifiedCode): void {
    const { expiry, wallTimeOf } = this.#parts;
    const { data } = socket;
    Object.assign(data, expiry.of(verified));
    this.#regrant(socket, verified);
    const endMs = endOf(data);
    this.#send(socket, refreshedFrame(endMs > 0 ? wallTimeOf(endMs) : null));
  }

  /** A code that names no channels changes none. */
  #regrant(socket: Socket, { channels: granted, joinsChannels }: VerifiedCode): void {
    if (granted === null) return;
    const { channels } = this.#parts;
    const grants = grantsOf(granted);
    socket.data.grants = grants;
    for (const left of channels.leaveMatching(socket, (channel) => !grants.allows(channel)))
      this.#send(socket, leftFrame(left));
    const joining = joinsChannels ? granted.filter(isPlainName) : [];
    for (const channel of joining) {
      const isMember = socket.data.channels?.has(channel) ?? false;
      if (!isMember && channels.join(socket, channel) === null) this.#send(socket, joinedFrame(channel));
    }
  }

  #refuse(socket: Socket, reason: keyof typeof refusalTexts): void {
    this.#send(socket, errorFrame(reason, refusalTexts[reason]));
  }

  #send(socket: Socket, frame: string): void {
    this.#parts.sendBuffers.send(socket, frame);
  }
}

function isSame({ data }: Socket, { userId, isTemporary, isConsole }: VerifiedCode): boolean {
  const isTemporaryHere = data.kind === "temporary";
  return data.userId === userId && isTemporaryHere === isTemporary && data.isConsole === isConsole;
}
