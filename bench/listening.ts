import type { Subprocess } from "bun";

const deadlineMs = 30_000;

type Child = Pick<Subprocess, "exitCode">;

/** Resolves to the milliseconds since `startedAt` when the port accepts a connection. */
export function untilListening(child: Child, port: number, startedAt: number): Promise<number> {
  return until(child, startedAt, "listen", () => accepts(port));
}

/** Resolves to the milliseconds since `startedAt` when a request is answered, with any status. */
export function untilAnswering(child: Child, url: string, startedAt: number): Promise<number> {
  return until(child, startedAt, "answer", () => answers(url));
}

async function until(
  child: Child,
  startedAt: number,
  act: string,
  isDone: () => Promise<boolean>,
): Promise<number> {
  while (!(await isDone())) {
    if (child.exitCode !== null) throw new Error("the program ended");
    if (performance.now() - startedAt > deadlineMs) throw new Error(`the program does not ${act}`);
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

function answers(url: string): Promise<boolean> {
  return fetch(url, { keepalive: false, redirect: "manual" }).then(
    async (response) => {
      await response.arrayBuffer();
      return true;
    },
    () => false,
  );
}
