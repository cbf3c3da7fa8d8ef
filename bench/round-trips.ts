import { connect, createServer } from "node:net";

/** A proxy before a PostgreSQL server that counts round trips: each ends with the server's message ReadyForQuery. */
export interface RoundTripCounter {
  url: string;
  count(): number;
  stop(): void;
}

const readyForQuery = "Z".charCodeAt(0);
const headerBytes = 5;

export async function countRoundTrips(databaseUrl: string): Promise<RoundTripCounter> {
  const target = new URL(databaseUrl);
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of [client, upstream]) socket.on("error", () => client.destroy());
    upstream.on("close", () => client.destroy());
    const onMessage = (type: number) => {
      if (type === readyForQuery) count++;
    };
    upstream.on("data", messageReader(onMessage));
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : 0);
    });
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, count: () => count, stop: () => void server.close() };
}

/** Each message is one byte of type and four of length, which count themselves, before its content. */
function messageReader(onMessage: (type: number) => void): (bytes: Buffer) => void {
  let header = Buffer.alloc(0);
  let skip = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      const skipped = Math.min(skip, bytes.length - at);
      skip -= skipped;
      at += skipped;
      if (skip > 0) return;
      const taken = bytes.subarray(at, at + headerBytes - header.length);
      header = Buffer.concat([header, taken]);
      at += taken.length;
      if (header.length < headerBytes) return;
      onMessage(header.readUInt8(0));
      skip = header.readUInt32BE(1) - 4;
      header = Buffer.alloc(0);
    }
  };
}
