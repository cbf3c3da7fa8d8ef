import type { Subprocess } from "bun";

const deadlineMs = 30_000;

/** Resolves to the milliseconds since `startedAt` when the port accepts a connection. */
export async function untilListening(
  child: Pick<Subprocess, "exitCode">,
  port: number,
  startedAt: number,
): Promise<number> {
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error("the program ended");
    if (performance.now() - startedAt > deadlineMs) throw new Error("the program does not listen");
    await Bun.sleep(1);
  }
  return performance.now() - startedAt;
}

function accepts(port: number): Promise<boolean> {
  return Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
    (socket) => {
      socket.terminate();
      return true;
    },
    () => false,
  );
}
