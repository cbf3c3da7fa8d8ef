import { afterAll } from "bun:test";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runnerPaths } from "../../src/runner/protocol.ts";
import { endScriptsIn } from "./process-watch.ts";
import { main } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Answers a call of a runner in the place of the server; null: the server answers. */
export type Hook = (path: string, request: Request) => Promise<Response | null> | Response | null;

/** The server as a runner on another network reaches it, so that a test can disturb each call. */
export function openHookedServer(server: string) {
  let hook: Hook = () => null;
  const served = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 120,
    maxRequestBodySize: 128 * 1024 * 1024,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = await request.bytes();
      const answer = await hook(pathname, new Request(request.url, { method: request.method, body }));
      if (answer !== null) return answer;
      const headers = {
        authorization: request.headers.get("authorization") ?? "",
        "content-type": request.headers.get("content-type") ?? "",
      };
      return fetch(`${server}${pathname}`, {
        method: request.method,
        headers,
        body,
        signal: request.signal,
      }).catch(() => new Response("", { status: 502 }));
    },
  });
  afterAll(() => served.stop(true));
  return {
    url: `http://127.0.0.1:${served.port}`,
    disturb(next: Hook) {
      hook = next;
    },
    restore() {
      hook = () => null;
    },
  };
}

export const isPart = (path: string) => path === runnerPaths.transferPart;

/**
 * Runners as on machines of their own: each has its own processes, and its own folder at the same path. Killing one is a power loss:
 * its services end too. `tmpfsMegabytes`: on a small disk.
 */
export function openMachines() {
  /** The path of the runner's folder on every machine. */
  const root = temporaryFolder("machines");
  const running = new Set<{ end(): Promise<void> }>();
  let ports = 31_000;
  afterAll(async () => {
    for (const each of running) await each.end();
    endScriptsIn(root);
  });

  function addMachine(
    token: string,
    server: string,
    settings: Record<string, string> = {},
    tmpfsMegabytes = 0,
  ) {
    const dataDir = temporaryFolder("machine");
    const folder = join(dataDir, "root");
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const first = ports;
    ports += 100;
    if (tmpfsMegabytes > 0)
      Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${tmpfsMegabytes}m`, "tmpfs", folder]);
    const bind = 'mount --bind "$1" "$2" && shift 2 && "$@"; true';
    const start = () =>
      Bun.spawn(
        [
          ...[
            "unshare",
            "--mount",
            "--propagation",
            "slave",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
          ],
          // A machine has a memory of its own too: its runner clears what those with numbers of no process here left there.
          ...["sh", "-c", `mount -t tmpfs tmpfs /dev/shm && ${bind}`, "sh", folder, root],
          ...[process.execPath, main, "runner", "--data-dir", dataDir, "--tasks-concurrency", "2"],
        ],
        {
          stdin: "ignore",
          stdout: Bun.file(join(dataDir, "runner.log")),
          stderr: "inherit",
          env: {
            PATH: process.env.PATH,
            SLIPWAY_RUNNER_SERVER: server,
            SLIPWAY_RUNNER_TOKEN: token,
            SLIPWAY_RUNNER_DIR: root,
            SLIPWAY_RUNNER_ISOLATION: "none",
            SLIPWAY_RUNNER_LABELS: "pool",
            SLIPWAY_RUNNER_PROXY: "none",
            SLIPWAY_RUNNER_PORTS: `${first}-${first + 99}`,
            ...settings,
          },
        },
      );
    let child = start();
    const machine = {
      /** What the machine has at `root`. */
      folder,
      log: () => Bun.file(join(dataDir, "runner.log")).text(),
      async kill() {
        child.kill("SIGKILL");
        await child.exited;
      },
      restart() {
        child = start();
      },
      async end() {
        child.kill("SIGKILL");
        await child.exited;
        if (tmpfsMegabytes > 0) Bun.spawnSync(["umount", "--lazy", folder]);
      },
      /** The folders of a project's releases, hidden ones included. */
      releases(projectId: number): string[] {
        try {
          return readdirSync(join(folder, "releases", String(projectId)));
        } catch {
          return [];
        }
      },
    };
    running.add(machine);
    return machine;
  }

  return { root, addMachine };
}
