import { median } from "./benchmark.ts";
import { startLoad } from "./load-process.ts";
import { startSlipway } from "./server-process.ts";

const codesPerRound = 4_000;
const rounds = 5;
const atOnce = 64;
const secret = "a secret of the benchmark that is long enough";

export const signedCodesMethod = `JWTs: \`slipway push\` with a secret for HS256 admits ${codesPerRound.toLocaleString("en-US")} connections a round, ${atOnce} at once, each with a token of its own without \`jti\`; the CPU of its process, all threads, is divided by the count. Median of ${rounds} rounds after a warm one.`;

/** Microseconds of CPU for each admission. */
export async function measureSignedCodes(progress: (message: string) => void): Promise<number> {
  const server = await startSlipway("http://127.0.0.1:9/unused", { SLIPWAY_PUSH_JWT_SECRETS: secret });
  const load = startLoad();
  const costs: number[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      await load.run({ type: "sign", secret, count: codesPerRound });
      const before = server.cpuSeconds();
      const { count, failed } = await load.run({ type: "holdIssued", url: server.url, atOnce });
      if (failed > 0) throw new Error(`${failed} of ${codesPerRound} tokens were refused`);
      if (round > 0) costs.push(((server.cpuSeconds() - before) / count) * 1e6);
      await load.run({ type: "release" });
      progress(round === 0 ? "JWTs: warm" : `JWTs: round ${round} of ${rounds}`);
    }
  } finally {
    await Promise.all([load.stop(), server.stop()]);
  }
  return median(costs);
}
