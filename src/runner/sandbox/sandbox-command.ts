import { readFileSync } from "node:fs";
import type { MachineView } from "./machine-view.ts";

/** A folder or file of the machine in the sandbox. */
export interface SandboxMount {
  source: string;
  /** Absent: at the same path. */
  target?: string;
  isReadOnly: boolean;
}

export interface SandboxRun {
  machine: MachineView;
  /** The folders of the task. A later one may lie in an earlier one. */
  mounts: SandboxMount[];
  /** A folder on disk that is /tmp, /var/tmp and /dev/shm. */
  temporary: string;
  cwd: string;
  hasNetwork: boolean;
  /** Descriptor to which bwrap writes the process id of the first process. */
  infoDescriptor?: number;
  command: string[];
}

/**
 * Namespaces of users, processes, messages and host name. The first process is the command itself (`--as-pid-1`): when it ends,
 * the kernel ends all others before bwrap reports its exit code. Nothing inside can create another user namespace.
 */
const namespaces = [
  ...["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
  ...["--new-session", "--die-with-parent", "--as-pid-1"],
];

/** Its proxy may need the right to listen on ports below 1024; bwrap refuses to run with any. */
const withoutRights = hasRights() ? ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--"] : [];

function hasRights(): boolean {
  try {
    return /^CapAmb:\s*0*[1-9a-f]/m.test(readFileSync("/proc/self/status", "utf8"));
  } catch {
    return false;
  }
}

/** The command that runs another one in a sandbox. It names no variable: other users of the machine can read it. */
export function sandboxCommand(run: SandboxRun): string[] {
  const { machine } = run;
  return [
    ...withoutRights,
    "bwrap",
    ...namespaces,
    ...(run.hasNetwork ? [] : ["--unshare-net"]),
    ...(run.infoDescriptor === undefined ? [] : ["--info-fd", String(run.infoDescriptor)]),
    // Files that a link in /etc leads to may be replaced, or go, while the runner runs.
    ...machine.readOnly.flatMap((path) => ["--ro-bind-try", path, path]),
    ...machine.links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--dir", "/run"],
    ...["/tmp", "/var/tmp", "/dev/shm"].flatMap((path) => ["--bind", run.temporary, path]),
    ...machine.added.flatMap(({ path, isWritable }) => [
      isWritable ? "--bind-try" : "--ro-bind-try",
      path,
      path,
    ]),
    ...machine.hiddenFolders.flatMap((path) => ["--tmpfs", path]),
    ...machine.hiddenFiles.flatMap((path) => ["--ro-bind", "/dev/null", path]),
    ...run.mounts.flatMap(({ source, target, isReadOnly }) => [
      isReadOnly ? "--ro-bind" : "--bind",
      source,
      target ?? source,
    ]),
    // Nobody writes to memory that no limit counts.
    ...[...machine.hiddenFolders, "/dev", "/"].flatMap((path) => ["--remount-ro", path]),
    ...["--chdir", run.cwd, "--", ...run.command],
  ];
}
