import type { Socket } from "bun";

/** A proxy between a program and a service, so that a test can cut and restore the connection. */
export interface TcpProxy {
  port: number;
  /** Closes every connection and refuses new ones. */
  cut(): void;
  restore(): void;
  stop(): void;
}

interface Side {
  other: Socket<Side> | null;
  /** Bytes that arrived before the other side was connected. */
  early: Buffer[];
}

export function startTcpProxy(target: { hostname: string; port: number }): TcpProxy {
  const open = new Set<Socket<Side>>();
  let isCut = false;
  const handlers = {
    data(socket: Socket<Side>, bytes: Buffer) {
      if (socket.data.other) socket.data.other.write(bytes);
      else socket.data.early.push(Buffer.from(bytes));
    },
    close(socket: Socket<Side>) {
      open.delete(socket);
      socket.data.other?.end();
    },
    error() {},
  };
  const listener = Bun.listen<Side>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...handlers,
      open(client) {
        client.data = { other: null, early: [] };
        if (isCut) return void client.terminate();
        open.add(client);
        void Bun.connect<Side>({ ...target, socket: handlers, data: { other: client, early: [] } }).then(
          (server) => {
            open.add(server);
            client.data.other = server;
            for (const bytes of client.data.early) server.write(bytes);
          },
          // The service does not listen yet, or no longer.
          () => client.terminate(),
        );
      },
    },
  });
  return {
    port: listener.port,
    cut() {
      isCut = true;
      for (const socket of open) socket.terminate();
    },
    restore() {
      isCut = false;
    },
    stop() {
      listener.stop(true);
    },
  };
}
