import { afterAll } from "bun:test";
import { freePort } from "./free-port.ts";
import { gitBackend } from "./git-http-server.ts";

/** Accepts connections and sends nothing. Returns its port. */
export function silentHost(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  afterAll(() => listener.stop(true));
  return listener.port;
}

/** A Git server that stops in the middle of each pack. Returns its origin. */
export function stallingHost(root: string): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const isFetch = (await request.clone().text()).includes("command=fetch");
      const answer = await gitBackend(request, new URL(request.url), root);
      if (!isFetch) return answer;
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const half = new ReadableStream({
        start: (controller) => controller.enqueue(bytes.subarray(0, bytes.length / 2)),
      });
      return new Response(half, { headers: answer.headers });
    },
  });
  afterAll(() => server.stop(true));
  return server.url.origin;
}

/** An address that answers no attempt to connect, like one behind a firewall that drops packets. Returns its port. */
export async function blackHole(): Promise<number> {
  const port = freePort();
  const program = `require("net").createServer().listen({ host: "127.0.0.1", port: ${port}, backlog: 1 }, () => console.log("listening"))`;
  const child = Bun.spawn(["node", "-e", program], { stdout: "pipe", stderr: "inherit" });
  afterAll(() => child.kill("SIGKILL"));
  await child.stdout.getReader().read();
  // A stopped program accepts nothing, and the kernel drops what exceeds the backlog.
  process.kill(child.pid, "SIGSTOP");
  for (let i = 0; i < 4; i++)
    void Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => {});
  // The kernel answers them in the background, and nobody can ask how far it is.
  await Bun.sleep(200);
  return port;
}
