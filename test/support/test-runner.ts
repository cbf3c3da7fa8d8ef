import { join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import type { ProxySettings } from "../../src/runner/route/routes.ts";
import { type RunnerOptions, runRunner } from "../../src/runner/run/runner.ts";

/** A runner in this process, with up to two tasks at once. */
export interface TestRunner {
  done: Promise<void>;
  drain: AbortController;
  abandon: AbortController;
  logLines: string[];
}

/** Without a proxy, also if the machine has one. */
export const noProxy: ProxySettings = {
  proxy: "none",
  caddy: undefined,
  caddyProgram: undefined,
  httpPort: 80,
  httpsPort: 443,
  acme: "",
  acmeEmail: "",
  acmeRoots: "",
  nginx: undefined,
  nginxReload: "",
};

/** Apart from those that runners use which are started with the default settings. */
const testPorts = { first: 30_000, last: 30_999 };

export function startTestRunner(server: string, root: string, more: Partial<RunnerOptions> = {}): TestRunner {
  const [drain, abandon] = [new AbortController(), new AbortController()];
  const logLines: string[] = [];
  const done = runRunner({
    address: () => ({ server, token: "token" }),
    labels: [],
    concurrency: 2,
    folders: { root, former: null, knownHosts: join(root, "known_hosts") },
    execution: {
      user: undefined,
      isolation: "none",
      sandboxPaths: [],
      hostSteps: false,
      secretPaths: [root],
      engine: "none",
      engineArguments: [],
      image: undefined,
      bounds: { memoryBytes: null, cpus: null },
    },
    services: { ports: testPorts, output: { maxBytes: 1024 ** 2, maxAgeMs: 86_400_000 } },
    proxy: noProxy,
    endsServices: () => true,
    cacheMaxBytes: 1024 ** 3,
    workspacePolicy: "live",
    releases: 3,
    projectQuotaBytes: null,
    stopGraceMs: 300,
    version: "test",
    env: process.env,
    clock: systemClock,
    log: pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) }),
    endsAloneAfterMs: null,
    endsWhenRefused: true,
    drain: drain.signal,
    abandon: abandon.signal,
    ...more,
  });
  return { done, drain, abandon, logLines };
}
