import { eventually } from "./eventually.ts";

export interface Closed {
  code: number;
  reason: string;
}

/** What a client has received, over any transport. */
export class ReceivedFrames {
  readonly frames: string[] = [];
  closed: Closed | null = null;

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
}
