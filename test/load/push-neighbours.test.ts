import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type AttackPlan,
  attackPlans,
  noSuffering,
  startAttackedSlipway,
  suffer,
  usual,
} from "../../bench/neighbours.ts";
import { type ServerProcess, startDeliveringBun, startVerifyService } from "../../bench/server-process.ts";
import { eventually } from "../support/eventually.ts";
import { LatencyProbe } from "../support/latency-probe.ts";
import { pick } from "../support/length.ts";

/** Stopped, flooding and knocking clients: what those who behave notice of them. */
const rounds = pick(1, 5);
/** In the long form 50,000 attempts. */
const knockMs = 10_000;
/** What the runtime keeps for itself of what it once needed. */
const maxGrowthBytes = 64 * 1024 ** 2;

let verify: ServerProcess;
let slipway: ServerProcess;
/** The same runtime under the same attack without anything of ours: what it suffers, the machine asks. */
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
}, 60_000);

afterAll(async () => {
  for (const { probe } of probes) probe.close();
  await Promise.all([verify, slipway, bare].map((server) => server.stop()));
});

async function openConnections(): Promise<number> {
  const answer = await fetch(`${slipway.url}/feign/connections`);
  return ((await answer.json()) as { data: { total: number } }).data.total;
}

async function sufferBoth(plan: AttackPlan) {
  const [own, control] = [noSuffering(), noSuffering()];
  const quietMs = pick(300, plan.quietMs);
  const attackedMs = pick(300, plan.attack === "knock" ? knockMs : plan.attackedMs);
  for (let round = 0; round < rounds; round++)
    for (const [index, { port, probe }] of probes.entries())
      await suffer(port, probe, { ...plan, quietMs, attackedMs }, index === 0 ? own : control);
  return { own, control };
}

describe("those who behave", () => {
  test.each(attackPlans)(
    "keep their latency: $name",
    async (plan) => {
      const { own, control } = await sufferBoth(plan);
      const [quiet, attacked, bareAttacked] = [
        usual(own.quiet),
        usual(own.attacked),
        usual(control.attacked),
      ];
      console.log(
        `p99 quiet ${quiet.toFixed(2)} ms, attacked ${attacked.toFixed(2)} ms, bare Bun ${bareAttacked.toFixed(2)} ms`,
      );
      expect(own.attempts).toBeGreaterThan(0);
      // Twice the quiet case; where attackers that share the cores make more of it, not more than half as much again as the
      // bare server suffers. One short round on a busy machine says nothing: there only a standstill is a failure.
      expect(attacked).toBeLessThan(pick(2_000, Math.max(2 * quiet, 1.5 * bareAttacked)));
    },
    240_000,
  );

  test("are alone again when the attackers have gone, and memory returns to where it was", async () => {
    await eventually(
      "every place of an attacker is free",
      async () => (await openConnections()) === 1,
      60_000,
    );
    await eventually(
      "memory is back",
      () => slipway.residentBytes() - residentBytesBefore < maxGrowthBytes,
      60_000,
    );
  }, 130_000);
});
