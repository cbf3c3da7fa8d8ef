import { type Attack, startAttackers } from "../test/support/attackers.ts";
import { LatencyProbe, percentile } from "../test/support/latency-probe.ts";
import { type Benchmark, digits } from "./benchmark.ts";
import {
  type ServerProcess,
  startDeliveringBun,
  startSlipway,
  startVerifyService,
} from "./server-process.ts";

export interface AttackPlan {
  name: string;
  attack: Attack;
  perSecond: number;
  atOnce: number;
  quietMs: number;
  attackedMs: number;
}

const asFastAsAnswered = 1_000_000;

export const attackPlans: AttackPlan[] = [
  planOf("1,000 bad codes a second", "knock", 1_000, 64, 2_500),
  planOf("50 floods a second of 200 frames", "flood", 50, 16, 1_000),
  planOf("200 times garbage a second", "garbage", 200, 16, 1_000),
  planOf("20 KB, 50 times a second, unread", "unread", 50, 16, 1_000),
  planOf("bad codes as fast as answered, 64 at once", "knock", asFastAsAnswered, 64, 1_000),
];

function planOf(
  name: string,
  attack: Attack,
  perSecond: number,
  atOnce: number,
  attackedMs: number,
): AttackPlan {
  return { name, attack, perSecond, atOnce, quietMs: 1_000, attackedMs };
}

const rounds = 12;
const warmMs = 2_000;

/** The latencies of each round in milliseconds, without and with an attack. */
export interface Latencies {
  quiet: number[][];
  attacked: number[][];
  attempts: number;
}

export function noLatencies(): Latencies {
  return { quiet: [], attacked: [], attempts: 0 };
}

/** One round: without an attack, then with it, directly after each other, so that the machine is in the same state. */
export async function measureRound(
  port: number,
  probe: LatencyProbe,
  plan: AttackPlan,
  into: Latencies,
): Promise<void> {
  into.quiet.push(await probe.measure(plan.quietMs));
  const attackers = await startAttackers(plan.attack, { ...plan, port });
  into.attacked.push(await probe.measure(plan.attackedMs));
  into.attempts += await attackers.stop();
}

/** The lower quartile of the rounds' 99th percentiles: other load on the machine only adds to some rounds. */
export function usualP99(rounds: readonly number[][]): number {
  const p99 = rounds.map((latencies) => percentile(latencies, 99));
  return percentile(p99, 25);
}

export function startAttackedSlipway(verifyUri: string): Promise<ServerProcess> {
  return startSlipway(verifyUri, { SLIPWAY_SERVER_TRUSTED_PROXIES: "127.0.0.0/8" });
}

export const quietNeighbours: Benchmark = {
  name: "neighbours",
  title: "Neighbours of attackers",
  method: `A well-behaved client publishes to itself about once a millisecond and measures the time until the message arrives, without and with each attack in turn, ${rounds} rounds; p99 of each round, and the lower quartile of the rounds, because other work of the machine only adds. The attackers are a process of the lowest priority on the same two cores, each attempt from another address. The peer is a bare Bun that verifies with one \`fetch\`, delivers, and has no limits: its increase is the cost of the machine and the runtime.`,
  async run(progress) {
    const verify = await startVerifyService();
    const servers = [await startAttackedSlipway(verify.url), await startDeliveringBun(verify.url)];
    const ports = servers.map(({ url }) => Number(new URL(url).port));
    const probes = await Promise.all(ports.map((port) => LatencyProbe.open(port, "friend")));
    const results = attackPlans.map((plan) => ({ plan, of: servers.map(noLatencies) }));
    try {
      for (const probe of probes) await probe.measure(warmMs);
      const before = servers[0]?.residentBytes() ?? 0;
      for (const { plan, of } of results) {
        for (let round = 0; round < rounds; round++)
          for (const [index, probe] of probes.entries())
            await measureRound(ports[index] ?? 0, probe, plan, of[index] ?? noLatencies());
        progress(plan.name);
      }
      await Bun.sleep(settleMs);
      const grownBytes = (servers[0]?.residentBytes() ?? 0) - before;
      return resultOf(results, grownBytes);
    } finally {
      for (const probe of probes) probe.close();
      await Promise.all([verify, ...servers].map((server) => server.stop()));
    }
  },
};

/** The runtime returns memory after some idle time. */
const settleMs = 5_000;
const maxGrowthBytes = 64 * 1024 ** 2;

function resultOf(
  results: { plan: AttackPlan; of: Latencies[] }[],
  grownBytes: number,
): Awaited<ReturnType<Benchmark["run"]>> {
  const rises = results.map(({ plan, of }) => ({
    plan,
    attempts: of[0]?.attempts ?? 0,
    rises: of.map(({ quiet, attacked }) => ({
      quiet: usualP99(quiet),
      attacked: usualP99(attacked),
    })),
  }));
  const [worst] = rises
    .filter(({ plan }) => plan.perSecond < asFastAsAnswered)
    .map(({ plan, rises: [own, bare] }) => ({ plan, ofBare: (own?.attacked ?? 0) / (bare?.attacked ?? 1) }))
    .sort((a, b) => b.ofBare - a.ofBare);
  const megabytes = grownBytes / 1024 ** 2;
  return {
    figures: [
      {
        name: "p99 of well-behaved clients, under the worst attack",
        measured: `${digits(worst?.ofBare ?? 0)} × bare Bun (${worst?.plan.name})`,
        toReach: "≤ 2 × a bare Bun server under the same attack",
        isReached: (worst?.ofBare ?? 0) <= 2,
      },
      {
        name: "memory after the attacks",
        measured: `${megabytes < 0 ? "−" : "+"}${digits(Math.abs(megabytes))} MB`,
        toReach: "returns to where it was (within 64 MB of the runtime's own caches)",
        isReached: grownBytes < maxGrowthBytes,
      },
    ],
    tables: [
      {
        title: "p99 from publish to arrival, milliseconds",
        head: ["attack", "attempts", "Slipway quiet", "attacked", "", "bare Bun quiet", "attacked", ""],
        rows: rises.map(({ plan, attempts, rises: of }) => [
          plan.name,
          attempts.toLocaleString("en-US"),
          ...of.flatMap(({ quiet, attacked }) => [
            digits(quiet),
            digits(attacked),
            `${digits(attacked / quiet)} ×`,
          ]),
        ]),
      },
    ],
    plots: [],
  };
}
