import { type Benchmark, digits, median } from "./benchmark.ts";
import { checkouts } from "./checkouts.ts";
import { startLoad } from "./load-process.ts";
import { measureOwnCodes, ownCodesMethod } from "./own-codes.ts";
import { type ServerProcess, startBareBun, startSlipway, startVerifyService } from "./server-process.ts";
import { measureSignedCodes, signedCodesMethod } from "./signed-codes.ts";

const connectionsPerRound = 4_000;
const rounds = 5;
const atOnce = 64;

export const admissions: Benchmark = {
  name: "admissions",
  title: "Admissions",
  method: `Handshakes with a code that a verify service, a process of its own, answers: ${connectionsPerRound.toLocaleString("en-US")} connections a round, ${atOnce} at once, opened and kept, then released. The peer is a bare Bun server that upgrades after one \`fetch\` of the same service. Server, verify service and load generator share the machine's cores; servers take turns, the median of ${rounds} rounds counts.\n\n${ownCodesMethod}\n\n${signedCodesMethod}`,
  async run(progress) {
    const verify = await startVerifyService();
    const servers = [await startSlipway(verify.url), await startBareBun(verify.url)];
    const rates = servers.map((): number[] => []);
    try {
      for (let round = 0; round <= rounds; round++) {
        for (const [index, server] of servers.entries()) {
          const rate = await admit(server);
          if (round > 0) rates[index]?.push(rate);
        }
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
      }
    } finally {
      await Promise.all([verify.stop(), ...servers.map((server) => server.stop())]);
    }
    const own = await measureOwnCodes(checkouts(), progress);
    const perToken = await measureSignedCodes(progress);
    const [{ perCode, perAdmission } = { perCode: 0, perAdmission: 0 }] = own.rounds;
    const [slipway = 0, bare = 0] = rates.map(median);
    const ratio = slipway / bare;
    return {
      figures: [
        {
          name: "admissions per second including the verify call",
          measured: `${digits(slipway)}, ${digits(ratio)} × bare Bun`,
          toReach: "≥ 3,000 on two cores, or 0.8 × a bare Bun upgrade with one fetch",
          isReached: slipway >= 3_000 || ratio >= 0.8,
        },
        {
          name: "CPU to issue an own code",
          measured: `${digits(perCode)} µs`,
          toReach: "≤ 250 µs",
          isReached: perCode <= 250,
        },
        {
          name: "CPU to admit a connection with an own code",
          measured: `${digits(perAdmission)} µs`,
          toReach: "≤ 130 µs",
          isReached: perAdmission <= 130,
        },
        {
          name: "CPU to admit a connection with a JWT",
          measured: `${digits(perToken)} µs`,
          toReach: "≤ that of an own code",
          isReached: perToken <= perAdmission,
        },
      ],
      tables: [
        own.table,
        {
          title: "Admissions per second",
          head: ["server", "per second", "of bare Bun"],
          rows: servers.map(({ name }, index) => {
            const rate = median(rates[index] ?? []);
            return [name, digits(rate), `${digits(rate / bare)} ×`];
          }),
        },
      ],
      plots: [],
    };
  },
};

async function admit(server: ServerProcess): Promise<number> {
  const load = startLoad();
  try {
    const { count, failed, seconds } = await load.run({
      type: "hold",
      url: server.url,
      count: connectionsPerRound,
      prefix: "user",
      atOnce,
    });
    if (failed > 0) throw new Error(`${server.name} refused ${failed} connections`);
    await load.run({ type: "release" });
    return count / seconds;
  } finally {
    await load.stop();
  }
}
