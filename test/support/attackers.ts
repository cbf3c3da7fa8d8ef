import { join } from "node:path";

/** Bad codes, more frames than allowed, bytes that are no frames, and a client that never reads. */
export type Attack = "knock" | "flood" | "garbage" | "unread";

export interface AttackOptions {
  port: number;
  perSecond: number;
  /** The most attempts at a time. */
  atOnce: number;
}

export interface Attackers {
  /** Returns the number of ended attempts. */
  stop(): Promise<number>;
}

/**
 * Resolves after the first attempt has ended. The attackers have the lowest priority: on a separate machine they would
 * not take CPU time from the server or from the measured client.
 */
export async function startAttackers(
  attack: Attack,
  { port, perSecond, atOnce }: AttackOptions,
): Promise<Attackers> {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const program = join(import.meta.dir, "attacker-process.ts");
  const numbers = [port, perSecond, atOnce].map(String);
  const child = Bun.spawn(["nice", "-n", "19", process.execPath, program, attack, ...numbers], {
    stdout: "inherit",
    stderr: "inherit",
    ipc(message) {
      if (message === "started") started.resolve();
      else ended.resolve((message as { attempts: number }).attempts);
    },
    onExit() {
      started.reject(new Error("the attackers ended before their first attempt"));
      ended.resolve(0);
    },
  });
  await started.promise;
  return {
    async stop() {
      child.send("stop");
      const attempts = await ended.promise;
      child.kill("SIGKILL");
      await child.exited;
      return attempts;
    },
  };
}
