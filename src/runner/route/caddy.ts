import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { FileCalls } from "../../system/file-calls.ts";
import { replaceFile } from "../../whole-file.ts";
import { type KeptProgram, openKeeper, outputFile } from "../keeper/keeper.ts";
import { ownPathOf } from "../stage/script-environment.ts";
import { openCaddyAdmin } from "./caddy-admin.ts";
import { accessLog, type CaddyConfigOptions, caddyConfig } from "./caddy-config.ts";
import { portFault } from "./port-fault.ts";
import type { RouteProxy } from "./route-proxy.ts";

export interface CaddyOptions extends Omit<CaddyConfigOptions, "admin"> {
  /** The program that the runner starts, or the admin address of a Caddy that runs already. */
  run: { program: string } | { address: string };
  calls: FileCalls;
  /** The runner's own environment. */
  own: Record<string, string | undefined>;
}

const rules = { restart: "always", graceSeconds: 5, outputMaxBytes: 1_000_000 } as const;
const startPatienceMs = 20_000;
const pollEveryMs = 50;

/**
 * Caddy as the proxy. The runner's own is started by a keeper: it survives runners, and starts again with the configuration
 * that it had. The configuration changes only with domains, paths, TLS and headers; a switch is the link of a route folder.
 */
export function openCaddy(options: CaddyOptions): RouteProxy {
  const { folder, run, calls } = options;
  const socket = join(folder, "admin");
  const address = "address" in run ? run.address : socket;
  const admin = openCaddyAdmin(address);
  const config = (routes: Parameters<RouteProxy["apply"]>[0]) =>
    caddyConfig(routes, {
      ...options,
      admin: "address" in run ? listenOf(address) : onSocket(`${socket}|0600`),
    });
  const configFile = join(folder, "caddy.json");
  const keeper = openKeeper(join(folder, "keeper"), calls);

  async function start(program: string): Promise<void> {
    if (keeper.isAlive() && (await admin.isUp())) return;
    mkdirSync(keeper.folder, { recursive: true, mode: 0o700 });
    if (!existsSync(configFile)) replaceFile(configFile, JSON.stringify(config([])));
    await keeper.start(keptCaddy(program, configFile, options), rules);
    const giveUpAt = performance.now() + startPatienceMs;
    while (!(await admin.isUp()) && performance.now() < giveUpAt) await Bun.sleep(pollEveryMs);
  }

  /** Why it has not started. */
  function lastPrinted(): string {
    try {
      return (
        readFileSync(join(keeper.folder, outputFile), "utf8").trim().split("\n").at(-1)?.slice(0, 1000) ?? ""
      );
    } catch {
      return "";
    }
  }

  async function apply(routes: Parameters<RouteProxy["apply"]>[0]): Promise<Reason | null> {
    const isOwn = "program" in run;
    if (isOwn && routes.length === 0 && !keeper.isAlive()) return null;
    const next = config(routes);
    try {
      if (isOwn) await start(run.program);
      const refusal = await admin.load(next);
      if (refusal === null) {
        // Caddy reads this file when it starts again, so it never contains a configuration that Caddy refused.
        replaceFile(configFile, JSON.stringify(next));
        return null;
      }
      return (
        portFault(refusal, [options.httpPort, options.httpsPort]) ??
        newReason("caddy_refused", { found: refusal.slice(0, 1000) })
      );
    } catch (error) {
      const printed = lastPrinted();
      return (
        portFault(printed, [options.httpPort, options.httpsPort]) ??
        newReason("caddy_no_answer", { address, found: [messageOf(error), printed].join(" ").trim() })
      );
    }
  }

  return {
    name: "caddy",
    holds: true,
    lookEveryMs: 10_000,
    settleMs: 1000,
    refuses: () => null,
    apply,
    accessLog: join(folder, accessLog),
    stop: () => ("program" in run ? keeper.stop(null, rules.graceSeconds) : Promise.resolve()),
  };
}

/** The admin API of a Caddy stays where it is. */
function listenOf(address: string): CaddyConfigOptions["admin"] {
  return address.startsWith("/") ? onSocket(address) : { listen: new URL(address).host };
}

/** Requests to a socket name the host `localhost`, which Caddy would refuse. */
function onSocket(path: string): CaddyConfigOptions["admin"] {
  return { listen: `unix/${path}`, origins: ["localhost"] };
}

/** Without the runner's environment, and with no other right than to listen on ports below 1024. */
function keptCaddy(program: string, configFile: string, { own, folder }: CaddyOptions): KeptProgram {
  const path = ownPathOf(own);
  const at = (name: string) => Bun.which(name, { PATH: path });
  const setpriv = at("setpriv");
  const rights = process.getuid?.() === 0 ? ["--bounding-set=-all,+net_bind_service"] : [];
  return {
    kind: "none",
    command: [
      ...[at("setsid") ?? "setsid", at("env") ?? "env", "-i", `HOME=${folder}`],
      ...(setpriv === null ? [] : [setpriv, ...rights, "--no-new-privs", "--"]),
      ...[program, "run", "--config", configFile],
    ],
    cwd: "/",
    variables: {},
    env: { PATH: path },
    limits: null,
    container: null,
  };
}
