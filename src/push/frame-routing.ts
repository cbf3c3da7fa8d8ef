import type { Control, FrameResult } from "./control.ts";
import { keyOf, type OpenStreams } from "./open-streams.ts";

export interface FrameRoutingParts {
  streams: OpenStreams;
  control: Control;
  /** Identifies this process by its start. */
  process: string;
}

/** Clients of event streams send frames by separate requests, which may arrive at any process. */
export class FrameRouting {
  readonly #parts: FrameRoutingParts;

  constructor(parts: FrameRoutingParts) {
    this.#parts = parts;
  }

  /**
   * Whether a frame for the stream is worth reading: the stream is open here, or its name begins with another process of
   * the cluster, which only admitted clients know.
   */
  mayHave(name: string): boolean {
    const { streams, control } = this.#parts;
    return this.isHere(name) ? streams.has(name) : control.knowsProcess(processOf(name));
  }

  /** Whether frames for the stream are handled in this process. */
  isHere(name: string): boolean {
    return processOf(name) === this.#parts.process;
  }

  /** Null: the process that has the stream did not answer in time. Rejects if it cannot be asked. */
  async receive(name: string, text: string): Promise<FrameResult | null> {
    const { streams, control } = this.#parts;
    const key = keyOf(name);
    return this.isHere(name) ? streams.receiveHere(key, text) : control.passFrame(processOf(name), key, text);
  }
}

function processOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(".")));
}
