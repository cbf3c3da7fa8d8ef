import { connect, createServer, type Server, type Socket } from "node:net";
import { timePasses } from "./part.ts";

/**
 * open: bytes pass · cut: every connection, also a new one, is reset · black-hole: connections stay and no bytes pass until
 * the link is open again · slow: bytes pass late and a few at a time · half-open: the far side is closed, the near side
 * gets no close.
 */
export type LinkState = "open" | "cut" | "black-hole" | "slow" | "half-open";

const slowDelayMs = 150;
const slowPieceBytes = 4096;

interface Pair {
  near: Socket;
  far: Socket | null;
  /** The far side is closed and the near side got no close. */
  isHalf: boolean;
}

/** A TCP proxy between two parts, which a fault can break. */
export class Link {
  readonly name: string;
  readonly #target: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #state: LinkState = "open";
  port = 0;

  private constructor(name: string, target: number) {
    this.name = name;
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
  }

  static async open(name: string, targetPort: number, port = 0): Promise<Link> {
    const link = new Link(name, targetPort);
    await new Promise<void>((resolve, reject) => {
      link.#server.once("error", reject);
      link.#server.listen(port, "127.0.0.1", resolve);
    });
    const address = link.#server.address();
    link.port = typeof address === "object" && address ? address.port : 0;
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  set(state: LinkState): void {
    const before = this.#state;
    this.#state = state;
    for (const pair of [...this.#pairs]) {
      if (state === "cut" || pair.isHalf) this.#reset(pair);
      else if (state === "half-open") this.#halve(pair);
      else if (state === "black-hole") for (const side of [pair.near, pair.far]) side?.pause();
      else if (before === "black-hole") this.#resume(pair);
    }
  }

  close(): void {
    this.set("cut");
    this.#server.close();
  }

  #accept(near: Socket): void {
    const pair: Pair = { near, far: null, isHalf: this.#state === "half-open" };
    near.on("error", () => {});
    if (this.#state === "cut") {
      near.resetAndDestroy();
      return;
    }
    this.#pairs.add(pair);
    near.on("close", () => this.#ended(pair, near));
    near.setNoDelay(true);
    if (pair.isHalf) near.on("data", () => {});
    else if (this.#state === "black-hole") near.pause();
    else this.#connect(pair);
  }

  #connect(pair: Pair): void {
    const far = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true });
    pair.far = far;
    far.setNoDelay(true);
    far.on("error", () => {});
    far.on("close", () => this.#ended(pair, far));
    this.#carry(pair, pair.near, far);
    this.#carry(pair, far, pair.near);
  }

  #carry(pair: Pair, from: Socket, to: Socket): void {
    from.on("data", (bytes: Buffer) => {
      if (pair.isHalf) return;
      if (this.#state === "slow") void this.#carrySlowly(from, to, bytes);
      else if (!to.write(bytes)) {
        from.pause();
        to.once("drain", () => this.#state !== "black-hole" && from.resume());
      }
    });
    from.on("end", () => {
      if (!pair.isHalf) to.end();
    });
  }

  async #carrySlowly(from: Socket, to: Socket, bytes: Buffer): Promise<void> {
    from.pause();
    for (let start = 0; start < bytes.length; start += slowPieceBytes) {
      if (this.#state === "slow") await timePasses(slowDelayMs);
      to.write(bytes.subarray(start, start + slowPieceBytes));
    }
    if (this.#state !== "black-hole") from.resume();
  }

  #resume(pair: Pair): void {
    if (pair.far === null) this.#connect(pair);
    else pair.far.resume();
    pair.near.resume();
  }

  #halve(pair: Pair): void {
    pair.isHalf = true;
    pair.far?.destroy();
  }

  #ended(pair: Pair, side: Socket): void {
    if (pair.isHalf && side === pair.far) return;
    // In a black hole neither side gets the close of the other.
    if (this.#state === "black-hole") pair.isHalf = true;
    else this.#reset(pair);
    if (side === pair.near) this.#pairs.delete(pair);
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair);
    for (const side of [pair.near, pair.far]) if (side && !side.destroyed) side.resetAndDestroy();
  }
}
