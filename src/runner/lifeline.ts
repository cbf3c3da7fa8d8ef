import type { ProcessTree } from "./process-tree.ts";
import { markVariable } from "./process-tree.ts";

/**
 * Ends the scripts of a runner that is killed without a chance to do it itself. A small shell waits at the other end of
 * a pipe; when the runner is gone the pipe ends, and the shell ends every process tree it was told of.
 */
export interface Lifeline {
  watch(tree: ProcessTree): void;
  /** The tree has ended, or may live on. */
  release(tree: ProcessTree): void;
  close(): void;
}

const guard = `
watched=""
while read -r verb leader mark; do
  case "$verb" in
    watch) watched="$watched $leader:$mark" ;;
    release) watched=$(printf '%s\\n' $watched | grep -v -x -F "$leader:$mark" | tr '\\n' ' ') ;;
  esac
done
end_all() {
  for entry in $watched; do
    kill -"$1" -- "-\${entry%%:*}" 2>/dev/null
    for file in $(grep -l -F "${markVariable}=\${entry#*:}" /proc/[0-9]*/environ 2>/dev/null); do
      pid=\${file#/proc/}
      kill -"$1" "\${pid%/environ}" 2>/dev/null
    done
  done
}
[ -z "\${watched# }" ] && exit 0
end_all TERM
sleep 2
end_all KILL
`;

export function openLifeline(): Lifeline {
  const shell = Bun.spawn(["sh", "-c", guard], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    // Its own session: what ends the runner's group must not end its guard.
    detached: true,
  });
  shell.unref();
  function tell(verb: "watch" | "release", tree: ProcessTree): void {
    try {
      shell.stdin.write(`${verb} ${tree.leader} ${tree.mark}\n`);
      shell.stdin.flush();
    } catch {
      // Without its guard the runner still ends its scripts itself, and the next start sweeps what is left.
    }
  }
  return {
    watch: (tree) => tell("watch", tree),
    release: (tree) => tell("release", tree),
    close: () => void shell.stdin.end(),
  };
}
