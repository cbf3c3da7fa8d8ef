import { type Benchmark, digits, median } from "./benchmark.ts";
import { startLoad } from "./load-process.ts";
import { startSlipway, startVerifyService } from "./server-process.ts";

const users = 10_000;
/** Of the users, those that are connected. */
const connected = 1_000;
const rounds = 5;
const atOnce = 32;
const dataBytes = 100;

export const batches: Benchmark = {
  name: "batch",
  title: "Batches",
  method: `The same text of ${dataBytes} bytes to ${users.toLocaleString("en-US")} users, of whom ${connected.toLocaleString("en-US")} are connected: one \`POST /feign/publishBatch\`, and ${users.toLocaleString("en-US")} \`POST /feign/publish\` over ${atOnce} kept-alive connections, in turns at the same gateway. Time until the last answer; the median of ${rounds} rounds after a warm one counts.`,
  async run(progress) {
    const verify = await startVerifyService();
    const server = await startSlipway(verify.url);
    const [holder, publisher] = [startLoad(), startLoad()];
    const [batch, single]: [number[], number[]] = [[], []];
    const { url } = server;
    try {
      await holder.run({ type: "hold", url, count: connected, prefix: "user", atOnce: 25 });
      for (let round = 0; round <= rounds; round++) {
        const order = { url, prefix: "user", users, dataBytes };
        const together = await publisher.run({ type: "batch", ...order });
        const alone = await publisher.run({ type: "target", ...order, requests: users, atOnce });
        const failed = together.failed + alone.failed;
        if (failed > 0) throw new Error(`${failed} publishes were refused`);
        progress(round === 0 ? "warm" : `round ${round} of ${rounds}`);
        if (round === 0) continue;
        batch.push(together.seconds * 1000);
        single.push(alone.seconds * 1000);
      }
    } finally {
      await Promise.all([holder.stop(), publisher.stop(), server.stop(), verify.stop()]);
    }
    const ratio = median(single) / median(batch);
    return {
      figures: [
        {
          name: `one batch to ${users.toLocaleString("en-US")} users, against as many publishes`,
          measured: `${digits(ratio)} × as fast`,
          toReach: "≥ 10 ×",
          isReached: ratio >= 10,
        },
      ],
      tables: [
        {
          title: `A text to ${users.toLocaleString("en-US")} users`,
          head: ["by", "ms until all are answered"],
          rows: [
            ["one batch", digits(median(batch))],
            ["single publishes", digits(median(single))],
          ],
        },
      ],
      plots: [],
    };
  },
};
