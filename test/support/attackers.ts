import { join } from "node:path";

/** Bad codes, more frames than allowed, bytes that are no frames, and a reader that never reads what it is sent. */
export type Attack = "knock" | "flood" | "garbage" | "unread";

export interface AttackOptions {
  port: number;
  perSecond: number;
  /** Attempts under way at most. */
  atOnce: number;
}

export interface Attackers {
  /** Answers how many attempts came to their end. */
  stop(): Promise<number>;
}

/**
 * Starts them in a process of the lowest priority: on a machine of their own they would not take the time of the server
 * that they attack, nor of those who are measured.
 */
export function startAttackers(attack: Attack, { port, perSecond, atOnce }: AttackOptions): Attackers {
  const told = Promise.withResolvers<number>();
  const program = join(import.meta.dir, "attacker-process.ts");
  const numbers = [port, perSecond, atOnce].map(String);
  const child = Bun.spawn(["nice", "-n", "19", process.execPath, program, attack, ...numbers], {
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message) => told.resolve((message as { attempts: number }).attempts),
    onExit: () => told.resolve(0),
  });
  return {
    async stop() {
      child.send("stop");
      const attempts = await told.promise;
      child.kill("SIGKILL");
      await child.exited;
      return attempts;
    },
  };
}
