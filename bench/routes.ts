import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holdersOfFile } from "../src/runner/keeper/process-table.ts";
import { eventually } from "../test/support/eventually.ts";
import { freePort } from "../test/support/free-port.ts";
import { type Failure, type LoadTarget, startLoadProcess } from "../test/support/request-load.ts";
import { openRouteScene, routeOf, webServer } from "../test/support/route-scene.ts";
import { serviceUrl } from "../test/support/services.ts";
import { type Benchmark, digits } from "./benchmark.ts";
import { cpuMsOf, pssBytesOf } from "./process-figures.ts";

const requests = Number(process.env.BENCH_ROUTES_REQUESTS ?? 20_000);
const perSecond = 200;
const deploys = 10;
/** Around the crash one proxy answers with errors at once, the other lets requests wait: their times cannot be compared. */
const crashMs = 3000;
const domain = "shop.test";

/** A way to deploy web servers behind a proxy. */
interface Contender {
  name: string;
  target: LoadTarget;
  proxyPid(): number;
  deploy(answer: string): Promise<void>;
  /** A version that never becomes healthy. */
  deployBad(): Promise<void>;
  /** Kills the version that serves; returns when. */
  crash(): Promise<number>;
  /** Starts the program that deploys again. */
  restart(): Promise<void>;
  /** Connections to another project that stay open. */
  closedSockets(): number;
  stop(): Promise<void>;
}

interface Measured {
  name: string;
  sent: number;
  /** Those that were in the service when it crashed are not counted. */
  failures: Failure[];
  closedSockets: number;
  p50: number;
  p99: number;
  /** The crash included. */
  longest: number;
  cpuMs: number;
  memory: number;
}

export const routeSwitches: Benchmark = {
  name: "routes",
  title: "Deploys behind a proxy",
  isLong: true,
  method: `${requests.toLocaleString("en-US")} requests at ${perSecond} a second over eight kept and many new connections, a third of them POST with bodies, through ${deploys} deploys, two failing ones, a rollback, a crash, and two restarts of the program that deploys; twenty WebSockets to another project are open. The same web server behind the Caddy of a runner and behind kamal-proxy (\`BENCH_KAMAL_PROXY\`). A failed request has an error status of the proxy, or a connection that ended without an answer; those that were in the service when it crashed are not counted. p50 and p99 leave out the seconds around the crash, in which kamal-proxy answers with errors at once and Caddy lets requests wait for the next copy. CPU and memory (proportional set size) are those of the proxy.`,
  async run(progress) {
    const kamal = process.env.BENCH_KAMAL_PROXY ?? Bun.which("kamal-proxy");
    const measured: Measured[] = [];
    for (const open of [
      () => openSlipway(false),
      () => openSlipway(true),
      ...(kamal ? [() => openKamal(kamal)] : []),
    ]) {
      const contender = await open();
      progress(contender.name);
      try {
        measured.push(await measure(contender));
      } finally {
        await contender.stop();
      }
    }
    for (const { name, failures } of measured) progress(`${name}: ${JSON.stringify(failures.slice(0, 5))}`);
    const own = measured.find(({ name, failures }) => name.startsWith("Slipway") && failures.length > 0);
    return {
      figures: [
        {
          name: "requests lost in deploys",
          measured: String(own?.failures.length ?? 0),
          toReach: "0",
          isReached: own === undefined,
        },
      ],
      tables: [
        {
          title: "",
          head: [
            "proxy",
            "requests",
            "failed",
            "WebSockets closed",
            "p50 ms",
            "p99 ms",
            "longest ms",
            "CPU µs per request",
            "memory MB",
          ],
          rows: measured.map((each) => [
            each.name,
            each.sent.toLocaleString("en-US"),
            String(each.failures.length),
            String(each.closedSockets),
            digits(each.p50),
            digits(each.p99),
            digits(each.longest),
            digits((each.cpuMs * 1000) / each.sent),
            digits(each.memory / 1e6),
          ]),
        },
      ],
      plots: [],
    };
  },
};

async function measure(contender: Contender): Promise<Measured> {
  const cpuBefore = cpuMsOf(contender.proxyPid());
  const load = startLoadProcess(contender.target, perSecond);
  const beganAt = performance.now();
  const wholeMs = (requests / perSecond) * 1000;
  let crashedAt = 0;
  const crash = async () => {
    crashedAt = await contender.crash();
  };
  const steps: (() => Promise<void>)[] = [
    ...Array.from({ length: deploys }, (_, index) => () => contender.deploy(`v${index + 2}`)),
  ];
  steps.splice(3, 0, contender.deployBad);
  steps.splice(5, 0, contender.restart);
  steps.splice(7, 0, contender.deployBad, () => contender.deploy("v3"));
  steps.push(crash, contender.restart);
  for (const [index, step] of steps.entries()) {
    const at = (wholeMs * index) / (steps.length + 1);
    await Bun.sleep(Math.max(0, at - (performance.now() - beganAt)));
    await step();
  }
  await Bun.sleep(Math.max(0, wholeMs - (performance.now() - beganAt)));
  const { sent, failures, durations } = await load.end();
  const sorted = durations
    .filter(({ sentAt }) => sentAt < crashedAt - crashMs || sentAt > crashedAt + crashMs)
    .map(({ ms }) => ms)
    .toSorted((one, other) => one - other);
  const pid = contender.proxyPid();
  return {
    ...{ name: contender.name, sent, closedSockets: contender.closedSockets() },
    failures: failures.filter(({ sentAt, endedAt }) => sentAt > crashedAt + 20 || endedAt < crashedAt),
    p50: sorted[Math.floor(sorted.length / 2)] ?? 0,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    longest: Math.max(...durations.map(({ ms }) => ms)),
    cpuMs: cpuMsOf(pid) - cpuBefore,
    memory: pssBytesOf(pid),
  };
}

async function openSlipway(hasHttps: boolean): Promise<Contender> {
  const scene = await openRouteScene("none", { caddyProgram: await serviceUrl("caddy") });
  const route = routeOf(domain, hasHttps ? { tls: "internal", redirect: false } : {});
  const deploy = async (answer: string, more = {}) => {
    await scene.deploy(scene.release([scene.web(answer, [route], { drain: 30, ...more })]));
  };
  await scene.deploy({ ...scene.release([scene.web("chat", [routeOf("chat.test")])]), projectId: 8 });
  await deploy("v1");
  if (hasHttps) await eventually("there is a certificate", () => scene.answersTls(domain));
  const sockets = await Promise.all(Array.from({ length: 20 }, () => scene.socket("chat.test")));
  let closed = 0;
  for (const socket of sockets) socket.onclose = () => (closed += 1);
  const { httpPort, httpsPort } = scene.proxy;
  return {
    name: hasHttps ? "Slipway with Caddy, HTTP/2 too" : "Slipway with Caddy",
    target: {
      domain,
      httpPort,
      https: hasHttps ? { port: httpsPort, authority: scene.authority() } : null,
    },
    // The first process of a copy is a shell.
    proxyPid: () =>
      holdersOfFile(4, join(scene.root, "proxy/keeper/copy")).toSorted(
        (one, other) => pssBytesOf(other) - pssBytesOf(one),
      )[0] ?? 0,
    deploy,
    deployBad: () =>
      deploy("bad", { check: { http: "/", tcp: "", command: "", expect: "nothing", within: 2 } }),
    async crash() {
      const at = Date.now();
      await scene.ask(domain, "/crash", { method: "POST" }).catch(() => {});
      return at;
    },
    restart: async () => void (await scene.reopen()),
    closedSockets: () => closed,
    stop: () => scene.stop(),
  };
}

async function openKamal(program: string): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), "slipway-kamal-"));
  writeFileSync(join(folder, "server.mjs"), webServer);
  const [httpPort, httpsPort] = [freePort(), freePort()];
  const env = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: folder, XDG_CONFIG_HOME: folder };
  const proxy = Bun.spawn([program, "run", "--http-port", `${httpPort}`, "--https-port", `${httpsPort}`], {
    env,
    stdout: "ignore",
    stderr: "ignore",
  });
  const running = new Set<ReturnType<typeof start>>();
  const answers = (port: number) =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  function start(answer: string, port: number) {
    return Bun.spawn([process.execPath, join(folder, "server.mjs")], {
      env: { ...process.env, PORT: String(port), ANSWER: answer },
      stdout: "ignore",
    });
  }
  const tell = (...args: string[]) =>
    Bun.spawn([program, "deploy", ...args, "--health-check-path", "/"], {
      env,
      stdout: "ignore",
      stderr: "ignore",
    }).exited;
  let serving = { port: 0, child: null as ReturnType<typeof start> | null };
  const deployTo = async (name: string, host: string, answer: string) => {
    const port = freePort();
    const child = start(answer, port);
    running.add(child);
    await eventually("it answers", () => answers(port));
    await tell(name, "--target", `127.0.0.1:${port}`, "--host", host);
    return { port, child };
  };
  await eventually("kamal-proxy answers", () => answers(httpPort));
  await deployTo("chat", "chat.test", "chat");
  serving = await deployTo("shop", domain, "v1");
  let closed = 0;
  for (let index = 0; index < 20; index += 1) {
    const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/ws`, {
      headers: { Host: "chat.test" },
    } as never);
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    socket.onclose = () => (closed += 1);
  }
  return {
    name: "kamal-proxy",
    target: { domain, httpPort, https: null },
    proxyPid: () => proxy.pid,
    async deploy(answer) {
      const earlier = serving.child;
      serving = await deployTo("shop", domain, answer);
      earlier?.kill("SIGTERM");
    },
    deployBad: async () =>
      void (await tell(
        "shop",
        "--target",
        `127.0.0.1:${freePort()}`,
        "--host",
        domain,
        "--deploy-timeout",
        "2s",
      )),
    async crash() {
      serving.child?.kill("SIGKILL");
      const at = Date.now();
      // As a container engine starts it again.
      await Bun.sleep(1000);
      serving.child = start("again", serving.port);
      running.add(serving.child);
      return at;
    },
    restart: async () => {},
    closedSockets: () => closed,
    async stop() {
      for (const child of running) child.kill("SIGKILL");
      proxy.kill("SIGKILL");
      await proxy.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
