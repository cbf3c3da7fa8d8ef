import { expect, test } from "bun:test";
import { join } from "node:path";

const program = join(import.meta.dir, "../support/vanished-client-process.ts");

test("a user whose event stream vanished without a close is offline after ping-interval and pong-timeout", async () => {
  const [pingMs, pongMs] = [500, 1_500];
  const command = ["unshare", "--map-root-user", "--net", process.execPath, program];
  const run = Bun.spawn([...command, String(pingMs), String(pongMs), "20000"], { stderr: "pipe" });
  const [offlineAfterMs, faults] = await Promise.all(
    [run.stdout, run.stderr].map((output) => new Response(output).text()),
  );
  expect([await run.exited, faults]).toEqual([0, ""]);
  expect(Number(offlineAfterMs)).toBeGreaterThan(0);
  // The system looks at the time when it repeats the bytes, which it does at growing intervals.
  expect(Number(offlineAfterMs)).toBeLessThan(2 * (pingMs + pongMs) + 2_000);
}, 60_000);
