import { watchSilence } from "./silence-watch.ts";

/** How a git command ended. */
export interface GitRun {
  end: "exited" | "timeout" | "silent" | "stopped" | "too much output";
  exitCode: number;
  output: string;
  /** The beginning of what it wrote to standard error. */
  problems: string;
}

export interface RunGitOptions {
  args: readonly string[];
  /** The whole environment. */
  env: Record<string, string>;
  cwd: string;
  timeoutMs: number;
  maxOutputBytes: number;
  stop: AbortSignal;
}

const maxProblemBytes = 64 * 1024;
/** In blocks of 512 bytes: no pack that git writes may exceed 1 GiB. */
const maxFileBlocks = 2 * 1024 * 1024;

/**
 * Standard input is a pipe from this program. When the program ends, also by SIGKILL, the pipe ends, and the shell kills its
 * process group: git with its helpers, which could otherwise wait for a host for ever.
 */
const wrapper = `ulimit -f ${maxFileBlocks}
exec 3<&0
(read -r _ <&3; kill -KILL 0) &
watcher=$!
git "$@" </dev/null 3<&-
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"`;

/** Runs git in a process group of its own, with limits for time, output and file size. */
export async function runGit(options: RunGitOptions): Promise<GitRun> {
  const child = Bun.spawn(["sh", "-c", wrapper, "git", ...options.args], {
    cwd: options.cwd,
    env: options.env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  let end: GitRun["end"] = "exited";
  const kill = (why: GitRun["end"]) => {
    if (end === "exited") end = why;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The group has ended by itself.
    }
  };
  const timer = setTimeout(() => kill("timeout"), options.timeoutMs);
  const endWatch = watchSilence(child.pid, () => kill("silent"));
  const onStop = () => kill("stopped");
  options.stop.addEventListener("abort", onStop, { once: true });
  if (options.stop.aborted) onStop();
  try {
    const output = read(child.stdout, options.maxOutputBytes, () => kill("too much output"));
    const problems = read(child.stderr, maxProblemBytes, () => {});
    const exitCode = await child.exited;
    return { end, exitCode, output: await output, problems: await problems };
  } finally {
    clearTimeout(timer);
    endWatch();
    options.stop.removeEventListener("abort", onStop);
    await child.stdin.end();
  }
}

/** Reads a stream to its end and keeps its beginning. */
async function read(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  onExceeded: () => void,
): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    if (bytes <= maxBytes) kept.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.byteLength;
    if (bytes > maxBytes) onExceeded();
  }
  return Buffer.concat(kept).toString("utf8");
}
