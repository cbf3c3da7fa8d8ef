import { connect } from "node:net";

/** Sends bytes unchanged, in the given pieces, and reads the response: for requests that no client would send. */
export async function rawRequest(
  url: string,
  pieces: (string | Uint8Array | { waitMs: number })[],
  options: { halfClose?: boolean } = {},
): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  const closed = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (isWhole(text)) socket.destroy();
    });
    // A sender that is cut off while it writes must have read the response before.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  for (const piece of pieces) {
    if (socket.destroyed) break;
    // A client that sends slowly.
    if (typeof piece === "object" && "waitMs" in piece) await Bun.sleep(piece.waitMs);
    else await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
  }
  if (options.halfClose) socket.end();
  await closed;
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return { status: Number(head.slice(9, 12)), head, body };
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length >= headEnd + 4 + length;
}
