import {
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { newToken } from "../account/credential.ts";
import { messageOf } from "../errors.ts";
import type { RunnerKeeper } from "../model/runner.ts";
import { ownCommand } from "../own-command.ts";
import { identityOf, isSameProcessAlive, type ProcessIdentity } from "../runner/process-tree.ts";
import type { ServerAddress } from "../runner/server-client.ts";
import { hashToken, randomToken } from "../secrets.ts";
import { version } from "../version.ts";
import type { Ground } from "./part.ts";

/** The runner on this machine: a process of its own, so that a crash of the server does not end what it runs. */
export interface LocalRunner {
  /** Finds the runner that an earlier server left, or starts one, and keeps one running. */
  start(serverUrl: string): Promise<void>;
  /** Tells it to take no more work: idle it ends, else it finishes its tasks first and ends by itself. */
  drain(): void;
}

/** The files by which server and local runner know each other, in `<data.dir>/runner`. */
export function localRunnerFiles(dataDir: string) {
  const root = resolve(dataDir, "runner");
  return {
    root,
    address: join(root, "local.json"),
    pid: join(root, "local.pid"),
    log: join(root, "runner.log"),
  };
}

/** The runner that was started last, as the next server finds it. */
interface KnownRunner extends ProcessIdentity {
  version: string;
}

const lookEveryMs = 1000;
const logMaxBytes = 10 * 1024 * 1024;

export function buildLocalRunner({ config, log, clock }: Ground, runners: RunnerKeeper): LocalRunner {
  const files = localRunnerFiles(config["data.dir"]);
  let timer: ReturnType<typeof setInterval> | undefined;

  /** The token that the file and the database agree on, or a new one. */
  async function register(): Promise<string> {
    const kept = readJson<ServerAddress>(files.address)?.token;
    const labels = config["runner.labels"];
    const concurrency = config["tasks.concurrency"];
    const known = kept ? await runners.byTokenHash(hashToken(kept)) : null;
    if (kept && known) {
      // Without the setting they are those that an admin gave it in the console.
      await runners.update(known.id, { ...(labels.length > 0 ? { labels } : {}), concurrency });
      return kept;
    }
    const token = newToken("runner");
    const shape = { labels, concurrency, local: true, disabled: false, tokenHash: hashToken(token) };
    const name = `local on ${hostname()} ${randomToken(3, "hex")}`;
    await runners.create({ ...shape, name, createdAt: new Date(clock.now()) });
    return token;
  }

  function launch(): void {
    if (existsSync(files.log) && statSync(files.log).size > logMaxBytes)
      renameSync(files.log, `${files.log}.1`);
    const output = openSync(files.log, "a", 0o600);
    const child = Bun.spawn([...ownCommand(), "runner", "--local", files.address, ...settingsOf(config)], {
      stdin: "ignore",
      stdout: output,
      stderr: output,
      env: withoutOwnSettings(process.env),
      // A session of its own: Ctrl-C at the terminal and the end of the server's group do not reach it.
      detached: true,
    });
    child.unref();
    const known: KnownRunner = { ...identityOf(child.pid), version };
    writeFileSync(files.pid, JSON.stringify(known), { mode: 0o600 });
    log.info({ pid: child.pid }, "local runner started");
  }

  function keepOne(): void {
    try {
      const known = readJson<KnownRunner>(files.pid);
      const isAlive = known !== null && isSameProcessAlive(known);
      if (isAlive && known.version === version) return;
      // One of another version finishes what it holds, beside its successor.
      if (isAlive) process.kill(known.pid, "SIGTERM");
      else if (known !== null) log.warn({ pid: known.pid, log: files.log }, "the local runner is gone");
      launch();
    } catch (error) {
      log.error({ error: messageOf(error) }, "the local runner could not be started");
    }
  }

  return {
    async start(server) {
      mkdirSync(files.root, { recursive: true, mode: 0o700 });
      const token = await register();
      writeFileSync(files.address, JSON.stringify({ server, token } satisfies ServerAddress), {
        mode: 0o600,
      });
      keepOne();
      timer = setInterval(keepOne, lookEveryMs);
    },
    drain() {
      clearInterval(timer);
      const known = readJson<KnownRunner>(files.pid);
      rmSync(files.pid, { force: true });
      if (known && isSameProcessAlive(known)) process.kill(known.pid, "SIGTERM");
    },
  };
}

function settingsOf(config: Ground["config"]): string[] {
  return [
    ["--data-dir", resolve(config["data.dir"])],
    ["--tasks-concurrency", String(config["tasks.concurrency"])],
    ["--tasks-stop-grace", `${config["tasks.stopGrace"]}ms`],
    ["--runner-workspaces", config["runner.workspaces"]],
    ["--runner-also-unlabelled", String(config["runner.alsoUnlabelled"])],
    ["--log-level", config["log.level"]],
    ["--log-format", "json"],
  ].flat();
}

/** Keys and passwords of the server are none of the runner's business, nor of the scripts it runs. */
function withoutOwnSettings(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SLIPWAY_")));
}

function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return null;
  }
}
