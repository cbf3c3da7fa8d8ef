import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { Fault } from "../../errors.ts";

const saidMax = 2000;

/** The program tar, with pipes. */
export function spawnTar(args: string[]) {
  const child = spawn("tar", args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C" },
  });
  const started = Promise.withResolvers<void>();
  child.once("spawn", started.resolve);
  child.once("error", (cause) =>
    started.reject(new Fault("invalid", "The program tar is missing: install the package tar.", { cause })),
  );
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const said = textOf(child.stderr);
  child.stdin.on("error", () => {});
  return {
    child,
    /** Passes a part of its input on. tar may end before the end of an archive, whose last blocks are empty. */
    async write(chunk: Uint8Array): Promise<void> {
      if (child.exitCode === null && child.signalCode === null && child.stdin.writable) {
        if (child.stdin.write(chunk)) return;
        const drained = Promise.withResolvers<void>();
        child.stdin.once("drain", drained.resolve);
        await Promise.race([drained.promise, code]);
        child.stdin.off("drain", drained.resolve);
        return;
      }
      if ((await code) !== 0) throw new Error("tar has ended");
    },
    started: started.promise,
    ended: Promise.all([code, said]).then(([code, said]) => ({ code, said })),
  };
}

/** The last characters. */
async function textOf(stream: Readable): Promise<string> {
  let text = "";
  for await (const part of stream) text = `${text}${part}`.slice(-saidMax);
  return text.trim();
}
