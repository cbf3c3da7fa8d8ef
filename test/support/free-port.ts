/** Below the ports that the system gives to outgoing connections, which could take a free one before its program listens. */
const [lowest, count] = [15_000, 17_000];

/** Referred to, because a listener that was collected as garbage is closed. */
const reserved: { stop(): void }[] = [];

/** A port for programs that cannot choose one themselves. No other test gets it while this process runs. */
export function freePort(): number {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = lowest + Math.floor(Math.random() * count);
    if (isFree(port) && reserve(port)) return port;
  }
  throw new Error(`No free port from ${lowest} to ${lowest + count}.`);
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}

/** An abstract Unix socket, whose name the kernel frees when this process ends. */
function reserve(port: number): boolean {
  try {
    const listener = Bun.listen({ unix: `\0slipway-test-port-${port}`, socket: { data() {} } });
    listener.unref();
    reserved.push(listener);
    return true;
  } catch {
    return false;
  }
}
