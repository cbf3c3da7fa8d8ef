import { test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { buildRetention } from "../../src/retention.ts";
import { eventually } from "../support/eventually.ts";

test("a retention time shorter than an hour is checked four times within itself", async () => {
  let rounds = 0;
  const retention = buildRetention({
    what: "records",
    retentionDays: 40 / 86_400_000,
    async *batches() {
      rounds += 1;
      yield 0;
    },
    clock: manualClock(),
    log: pino({ level: "silent" }),
    cleaned() {},
  });
  retention.start();
  await eventually("there are more rounds than the one at the start", () => rounds >= 3);
  await retention.close();
});
