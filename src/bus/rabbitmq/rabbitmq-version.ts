import { connect as connectPlain } from "node:net";
import { connect as connectTls } from "node:tls";

export interface ServerAddress {
  host: string;
  port: number;
  /** Undefined: without TLS. */
  tls?: { ca?: string } | undefined;
}

const protocolHeader = Buffer.from("AMQP\0\0\x09\x01", "latin1");
const answersWithinMs = 3_000;

/** The version that RabbitMQ names in its first frame, which the client library does not pass on. */
export async function serverVersion({ host, port, tls }: ServerAddress): Promise<string> {
  const socket = tls ? connectTls({ host, port, servername: host, ...tls }) : connectPlain({ host, port });
  try {
    return await new Promise((resolve, reject) => {
      let received = "";
      socket.setTimeout(answersWithinMs, () => reject(new Error("RabbitMQ did not answer in time")));
      socket.on("error", reject);
      socket.on("close", () => resolve("(unknown version)"));
      socket.on("data", (part: Buffer) => {
        received += part.toString("latin1");
        // A field of a table: name, type "S", four bytes of length, text.
        const [, version] = /versionS[\s\S]{4}([\d.]+)/.exec(received) ?? [];
        if (version !== undefined) resolve(version);
      });
      socket.write(protocolHeader);
    });
  } finally {
    socket.destroy();
  }
}
