import { readFileSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { openCLibrary } from "../system/c-library.ts";

/** Secrets in this process's arguments and environment. */
export interface StartSecrets {
  /** Names of environment variables. */
  variables: readonly string[];
  /** Long flags without their dashes, whose value is a secret. */
  flags: readonly string[];
}

export interface Hidden {
  /** Why other processes of the user can still read this process's memory; null: they cannot. */
  fault: string | null;
}

const prSetDumpable = 4;

/**
 * Protects this process from scripts of the same user: denies access to /proc/<pid>/environ, mem and fd, and erases secrets
 * from the memory behind environ and cmdline, which unsetting a variable does not change. Only on Linux.
 */
export async function hideOwnProcess(secrets: StartSecrets): Promise<Hidden> {
  if (process.platform !== "linux") return { fault: null };
  try {
    const ffi = await import("bun:ffi");
    wipe(ffi, secrets);
    return { fault: await makeUndumpable() };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

type Ffi = typeof import("bun:ffi");

async function makeUndumpable(): Promise<string | null> {
  const { symbols, close } = await openCLibrary({
    prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  });
  const isDone = symbols.prctl(prSetDumpable, 0, 0, 0, 0) === 0;
  close();
  return isDone ? null : "the system refused prctl(PR_SET_DUMPABLE)";
}

function wipe({ toArrayBuffer }: Ffi, { variables, flags }: StartSecrets): void {
  const { start, end, environmentAt } = startMemory();
  const memory = new Uint8Array(toArrayBuffer(start as Parameters<Ffi["toArrayBuffer"]>[0], 0, end - start));
  let isValueNext = false;
  for (const { from, to, text } of entriesOf(memory)) {
    const name = text.split("=", 1)[0] ?? "";
    const isVariable = from >= environmentAt - start;
    const isSecret = isVariable ? variables.includes(name) : flags.some((flag) => name === `--${flag}`);
    const valueFrom = text.includes("=") ? from + Buffer.byteLength(name) + 1 : to;
    if (isValueNext && !isVariable) memory.fill(starCode, from, to);
    else if (isSecret) memory.fill(starCode, valueFrom, to);
    isValueNext = isSecret && !isVariable && !text.includes("=");
  }
}

const starCode = "*".charCodeAt(0);

/** Where the kernel put arguments and environment: fields 48, 49, 50 and 51 of proc(5) stat. */
function startMemory(): { start: number; end: number; environmentAt: number } {
  const text = readFileSync("/proc/self/stat", "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [start = 0, , environmentAt = 0, end = 0] = fields.slice(45, 49).map(Number);
  if (start === 0 || end <= start)
    throw new Error("the kernel does not report the address of the environment");
  return { start, end, environmentAt };
}

function* entriesOf(memory: Uint8Array): Generator<{ from: number; to: number; text: string }> {
  let from = 0;
  while (from < memory.length) {
    const zero = memory.indexOf(0, from);
    const to = zero < 0 ? memory.length : zero;
    yield { from, to, text: Buffer.from(memory.subarray(from, to)).toString("utf8") };
    from = to + 1;
  }
}
