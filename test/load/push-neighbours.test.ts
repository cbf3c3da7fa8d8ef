import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type AttackPlan,
  attackPlans,
  measureRound,
  noLatencies,
  startAttackedSlipway,
  usualP99,
} from "../../bench/neighbours.ts";
import { type ServerProcess, startDeliveringBun, startVerifyService } from "../../bench/server-process.ts";
import { eventually } from "../support/eventually.ts";
import { LatencyProbe, percentile } from "../support/latency-probe.ts";
import { pick } from "../support/length.ts";

const isFull = pick(false, true);
const rounds = pick(3, 5);
/** The long form makes 50,000 attempts. */
const knockMs = 10_000;
/** The runtime keeps some memory that it once needed. */
const maxGrowthBytes = 64 * 1024 ** 2;

let verify: ServerProcess;
let slipway: ServerProcess;
/** A plain Bun server under the same attack: its latency is what the machine and the runtime cause. */
let bare: ServerProcess;
let probes: { probe: LatencyProbe; port: number }[];
let residentBytesBefore: number;

beforeAll(async () => {
  verify = await startVerifyService();
  [slipway, bare] = await Promise.all([startAttackedSlipway(verify.url), startDeliveringBun(verify.url)]);
  probes = await Promise.all(
    [slipway, bare].map(async ({ url }) => {
      const port = Number(new URL(url).port);
      return { port, probe: await LatencyProbe.open(port, "friend") };
    }),
  );
  for (const { probe } of probes) await probe.measure(1000);
  residentBytesBefore = slipway.residentBytes();
});

afterAll(async () => {
  for (const { probe } of probes) probe.close();
  await Promise.all([verify, slipway, bare].map((server) => server.stop()));
});

async function openConnections(): Promise<number> {
  const answer = await fetch(`${slipway.url}/feign/connections`);
  return ((await answer.json()) as { data: { total: number } }).data.total;
}

async function sufferBoth(plan: AttackPlan) {
  const [own, control] = [noLatencies(), noLatencies()];
  const quietMs = pick(300, plan.quietMs);
  const attackedMs = pick(300, plan.attack === "knock" ? knockMs : plan.attackedMs);
  for (let round = 0; round < rounds; round++)
    for (const [index, { port, probe }] of probes.entries())
      await measureRound(port, probe, { ...plan, quietMs, attackedMs }, index === 0 ? own : control);
  return { own, control };
}

describe("a well-behaved client", () => {
  test.each(attackPlans)(
    "keeps its latency during $name",
    async (plan) => {
      const { own, control } = await sufferBoth(plan);
      const ratioAt = (percent: number) => {
        const at = (rounds: number[][]) => Number(percentile(rounds.flat(), percent).toFixed(2));
        const attacked = at(own.attacked);
        const baseline = {
          quiet: at(own.quiet),
          bareQuiet: at(control.quiet),
          bareAttacked: at(control.attacked),
        };
        console.log(`p${percent} in ms:`, JSON.stringify({ attacked, ...baseline }));
        return attacked / Math.max(...Object.values(baseline));
      };
      expect(own.attempts).toBeGreaterThan(0);
      // The margins are wide, because other programs on the machine disturb short rounds unequally.
      expect(ratioAt(50)).toBeLessThan(5);
      expect(ratioAt(99)).toBeLessThan(20);
      if (isFull)
        expect(usualP99(own.attacked)).toBeLessThan(
          Math.max(2 * usualP99(own.quiet), 1.5 * usualP99(control.attacked)),
        );
    },
    240_000,
  );

  test("is the only connection after the attacks, and memory returns to its earlier level", async () => {
    await eventually(
      "the connections of the attackers are closed",
      async () => (await openConnections()) === 1,
    );
    await eventually(
      "memory has returned",
      () => slipway.residentBytes() - residentBytesBefore < maxGrowthBytes,
    );
  }, 130_000);
});
