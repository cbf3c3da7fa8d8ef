import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { newToken } from "../account/credential.ts";
import { buildBackoff } from "../clock.ts";
import { startSecrets } from "../config/config.ts";
import { originalEnvironment, reachDirectly } from "../direct-hosts.ts";
import { messageOf } from "../errors.ts";
import { strongestIsolation } from "../model/execution.ts";
import type { Keepers } from "../model/store.ts";
import { ownCommand } from "../own-command.ts";
import { requireProcessGroups } from "../runner/process/process-groups.ts";
import { identityOf, isSameProcessAlive, type ProcessIdentity } from "../runner/process/process-tree.ts";
import { hashToken, randomToken, type Secrets } from "../secrets.ts";
import { version } from "../version.ts";
import { replaceFile } from "../whole-file.ts";
import type { AppContext } from "./app-context.ts";
import { isRootRunner, runnerFolders, runnerUserOf, secretPathsOf } from "./runner-folder.ts";

/** Files that server and local runner share, in `<data.dir>/runner`. */
export function localRunnerFiles(dataDir: string) {
  const root = resolve(dataDir, "runner");
  return {
    root,
    address: join(root, "local.json"),
    pid: join(root, "local.pid"),
    log: join(root, "runner.log"),
  };
}

/** The last started runner, stored for the next server process. */
interface KnownRunner extends ProcessIdentity {
  version: string;
  /** Of its settings: after a change, another runner takes its place. */
  settingsHash: string;
}

const lookEveryMs = 1000;
/** A runner that ends within this time after its start … */
const soonMs = 10_000;
/** … is started again after longer and longer pauses, because the next one probably ends as well. */
const maxPauseMs = 30_000;
const logMaxBytes = 10 * 1024 * 1024;
const lineMaxLength = 1000;

/** Shared state of server and local runner, in `local.json`. The runner gets its token through a pipe. */
interface LocalRunnerFile {
  server: string;
  runnerId: number;
  sealedToken: string;
}

interface Registration {
  runnerId: number;
  token: string;
}

/** When and with which output the last runner process ended. */
export interface LocalRunnerEnd {
  runnerId: number;
  at: Date;
  /** Its last line of output. Empty: its log cannot be read. */
  text: string;
}

/** Binds the ciphertext to its use. */
const tokenPurpose = "local runner token";

/** The runner on this machine: a separate process, so that tasks survive a crash of the server. */
export function buildLocalRunner(
  { config, log, clock }: AppContext,
  { runners }: Pick<Keepers, "runners">,
  secrets: Secrets,
) {
  requireProcessGroups();
  const files = localRunnerFiles(config["data.dir"]);
  const settingsHash = hashToken(settingsOf(config).join("\n"));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let registration: Registration | null = null;
  let isStopped = false;
  const pauses = buildBackoff(lookEveryMs, maxPauseMs, () => 1);
  let launchedAtMs = Number.NEGATIVE_INFINITY;
  let nextLookMs = lookEveryMs;
  let lastEnd: LocalRunnerEnd | null = null;

  /** The token that the file and the database agree on, or a new one. */
  async function register(): Promise<Registration> {
    const file = readJson<LocalRunnerFile>(files.address);
    const sealed = openToken(file);
    const labels = config["runner.labels"];
    const concurrency = config["tasks.concurrency"];
    const known =
      (sealed === null ? null : await runners.byTokenHash(hashToken(sealed))) ??
      (file === null ? null : await runners.byId(file.runnerId));
    if (known === null) {
      const token = newToken("runner");
      const shape = { labels, concurrency, local: true, disabled: false, tokenHash: hashToken(token) };
      const { id } = await runners.create({
        ...shape,
        name: `local on ${hostname()} ${randomToken(3, "hex")}`,
        // It runs with the settings of the server, so that its report is the server's own.
        trustedIsolation: strongestIsolation,
        createdAt: new Date(clock.now()),
      });
      return { runnerId: id, token };
    }
    const runnerId = known.id;
    const isGood = sealed !== null && hashToken(sealed) === known.tokenHash;
    const token = isGood ? sealed : newToken("runner");
    // Without the setting, the labels from the console are kept.
    const change = { ...(labels.length > 0 ? { labels } : {}), concurrency, tokenHash: hashToken(token) };
    await runners.update(runnerId, change);
    return { runnerId, token };
  }

  function openToken(file: LocalRunnerFile | null): string | null {
    try {
      return file && secrets.open(tokenPurpose, file.sealedToken);
    } catch {
      // The data key has changed since: the runner gets a new token.
      return null;
    }
  }

  function writeAddress(server: string, { runnerId, token }: Registration): void {
    const sealedToken = secrets.seal(tokenPurpose, token);
    const file: LocalRunnerFile = { server, runnerId, sealedToken };
    replaceFile(files.address, JSON.stringify(file));
  }

  function launch(token: string): void {
    launchedAtMs = clock.elapsed();
    nextLookMs = pauses.nextMs();
    const child = spawnRunner();
    const known: KnownRunner = { ...identityOf(child.pid), version, settingsHash };
    try {
      replaceFile(files.pid, JSON.stringify(known));
    } catch (error) {
      // Nobody would know of it, and the next look would start another one. It has no task before it has its token.
      child.kill("SIGKILL");
      throw error;
    }
    // A pipe, because scripts of the same user could read arguments, environment and files.
    child.stdin.write(token);
    void child.stdin.end();
    log.info({ pid: child.pid }, "local runner started");
  }

  function spawnRunner() {
    if (existsSync(files.log) && statSync(files.log).size > logMaxBytes)
      renameSync(files.log, `${files.log}.1`);
    const output = openSync(files.log, "a", 0o600);
    try {
      const child = Bun.spawn([...ownCommand(), "runner", "--local", files.address, ...settingsOf(config)], {
        stdin: "pipe",
        stdout: output,
        stderr: output,
        env: withoutOwnSettings(originalEnvironment()),
        // A session of its own: Ctrl-C at the terminal and the end of the server's group do not reach it.
        detached: true,
      });
      child.unref();
      return child;
    } finally {
      closeSync(output);
    }
  }

  /** Whether a runner of this version is running; a runner of another version finishes its tasks next to its successor. */
  function isThere(): boolean {
    const known = readJson<KnownRunner>(files.pid);
    const isAlive = known !== null && isSameProcessAlive(known);
    if (isAlive && known.version === version && known.settingsHash === settingsHash) return true;
    if (isAlive) process.kill(known.pid, "SIGTERM");
    else if (known !== null) noteEnd(known.pid);
    return false;
  }

  function noteEnd(pid: number): void {
    const lastLine = lastLineOf(files.log);
    log.warn({ pid, log: files.log, lastLine }, "the local runner is gone");
    if (registration === null) return;
    lastEnd = { runnerId: registration.runnerId, at: new Date(clock.now()), text: textOf(lastLine) };
  }

  async function keepOne(server: string): Promise<void> {
    try {
      if (isStopped) return;
      if (isThere()) {
        if (clock.elapsed() - launchedAtMs < soonMs) return;
        pauses.reset();
        nextLookMs = lookEveryMs;
        return;
      }
      registration ??= await registerAt(server);
      if (!isStopped) launch(registration.token);
    } catch (error) {
      log.error({ error: messageOf(error) }, "the local runner could not be started");
    }
  }

  async function registerAt(server: string): Promise<Registration> {
    const registered = await register();
    writeAddress(server, registered);
    return registered;
  }

  function keepOneLater(server: string): void {
    timer = setTimeout(() => void keepOne(server).finally(() => keepOneLater(server)), nextLookMs);
    if (isStopped) clearTimeout(timer);
  }

  return {
    /** How the last runner ended. Null: none has ended since this process started. */
    lastEnd: () => lastEnd,
    /** Adopts the runner of an earlier server process or starts one, and restarts it when it ends. */
    async start(server: string): Promise<void> {
      mkdirSync(files.root, { recursive: true, mode: 0o700 });
      // Scripts of another user must not read the database and the key; their workspaces are elsewhere.
      if (isRootRunner()) chmodSync(resolve(config["data.dir"]), 0o700);
      reachDirectly([new URL(server).hostname]);
      registration = await registerAt(server);
      await keepOne(server);
      keepOneLater(server);
    },
    /** Makes the runner finish its tasks and exit. By SIGINT, its services end too; they start again with the next runner. */
    drain(signal: NodeJS.Signals = "SIGTERM"): void {
      isStopped = true;
      clearTimeout(timer);
      const known = readJson<KnownRunner>(files.pid);
      try {
        if (known && isSameProcessAlive(known)) process.kill(known.pid, signal);
        // The next server starts its own runner, and does not wait for the end of this one.
        rmSync(files.pid, { force: true });
      } catch (error) {
        // Such as a folder that can no longer be written to: the server must still stop in order.
        log.warn({ error: messageOf(error) }, "the local runner could not be dismissed");
      }
    },
  };
}

/** Why a runner ended, if it could say so; empty: its log cannot be read. */
function lastLineOf(file: string): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").at(-1)?.slice(0, lineMaxLength) ?? "";
  } catch {
    return "";
  }
}

/** The message and the error of a structured log line, as people read it. */
function textOf(line: string): string {
  try {
    const { msg, error } = JSON.parse(line) as { msg?: string; error?: string };
    return [msg, error].filter(Boolean).join(": ") || line;
  } catch {
    return line;
  }
}

function settingsOf(config: AppContext["config"]): string[] {
  return [
    ["--data-dir", resolve(config["data.dir"])],
    ["--tasks-concurrency", String(config["tasks.concurrency"])],
    ["--tasks-stop-grace", `${config["tasks.stopGrace"]}ms`],
    ["--runner-dir", runnerFolders(config).root],
    ...optional("--runner-user", runnerUserOf(config)),
    ["--runner-isolation", config["runner.isolation"]],
    ["--runner-host-steps", String(config["runner.hostSteps"])],
    ...optional("--runner-sandbox-paths", pathsText(config["runner.sandboxPaths"])),
    ...secretPathsOf(config).map((path) => [`--secret-path=${path}`]),
    ["--runner-engine", config["runner.engine"]],
    ...optional("--runner-engine-arguments", config["runner.engineArguments"].join(",")),
    ...optional("--runner-image", config["runner.image"]),
    ["--runner-max-memory", String(config["runner.maxMemory"])],
    ["--runner-max-cpus", String(config["runner.maxCpus"])],
    ["--runner-cache-max-bytes", String(config["runner.cacheMaxBytes"])],
    ["--runner-workspaces", config["runner.workspaces"]],
    ["--runner-releases", String(config["runner.releases"])],
    ["--runner-ports", portsText(config["runner.ports"])],
    ["--runner-service-output", String(config["runner.serviceOutput"])],
    ["--runner-service-output-age", String(config["runner.serviceOutputAge"])],
    ...optional("--runner-proxy", config["runner.proxy"]),
    ...optional("--runner-caddy", config["runner.caddy"]),
    ...optional("--runner-caddy-program", config["runner.caddyProgram"]),
    ["--runner-http-port", String(config["runner.httpPort"])],
    ["--runner-https-port", String(config["runner.httpsPort"])],
    ...optional("--runner-acme", config["runner.acme"]),
    ...optional("--runner-acme-email", config["runner.acmeEmail"]),
    ...optional("--runner-acme-roots", config["runner.acmeRoots"]),
    ...optional("--runner-nginx", config["runner.nginx"]),
    ["--runner-nginx-reload", config["runner.nginxReload"]],
    ["--log-level", config["log.level"]],
    ["--log-format", "json"],
  ].flat();
}

function pathsText(paths: AppContext["config"]["runner.sandboxPaths"]): string {
  return paths.map(({ path, isWritable }) => (isWritable ? `${path}:rw` : path)).join(",");
}

function portsText({ first, last }: AppContext["config"]["runner.ports"]): string {
  return `${first}-${last}`;
}

/** With `=`, because a value may begin with a dash. */
function optional(flag: string, value: string | undefined): string[][] {
  return value ? [[`${flag}=${value}`]] : [];
}

/** Without keys and passwords of the server, which the runner and its scripts must not see. */
function withoutOwnSettings(env: Record<string, string | undefined>): Record<string, string | undefined> {
  const isOurs = (name: string) => name.startsWith("SLIPWAY_") || startSecrets.variables.includes(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOurs(name)));
}

function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return null;
  }
}
