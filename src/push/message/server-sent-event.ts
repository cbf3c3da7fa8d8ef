import { resumePositionOf } from "./frames.ts";

/** The server-sent event of a frame of `slipway.v1`; its `id` is the position that the client has after it. */
export function eventOf(frame: string): Uint8Array {
  const position = resumePositionOf(frame);
  return Buffer.from(`${position === null ? "" : `id: ${position}\n`}${dataLines(frame)}\n`);
}

/** An event with a name, for what WebSocket says by a status or a close code. */
export function namedEvent(name: "closed" | "refused", value: Record<string, unknown>): Uint8Array {
  return Buffer.from(`event: ${name}\n${dataLines(JSON.stringify(value))}\n`);
}

/** Readers ignore a comment; proxies and clients see that the stream is alive. */
export function commentOf(text: string): Uint8Array {
  return Buffer.from(`${linesOf(text, ": ")}\n`);
}

/** How long an EventSource waits before it connects again. */
export function retryField(ms: number): Uint8Array {
  return Buffer.from(`retry: ${ms}\n\n`);
}

/** Only a heartbeat content from the settings can have several lines. */
function dataLines(text: string): string {
  return linesOf(text, "data: ");
}

function linesOf(text: string, field: string): string {
  return `${field}${text.replaceAll(/\r\n|\r|\n/g, `\n${field}`)}\n`;
}
