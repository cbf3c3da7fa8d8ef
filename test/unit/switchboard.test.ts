import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { FrameWriter } from "../../src/workers/frame-socket.ts";
import { InstanceLimits } from "../../src/workers/supervisor/instance-limits.ts";
import { SharedLog } from "../../src/workers/supervisor/shared-log.ts";
import { Switchboard } from "../../src/workers/supervisor/switchboard.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("switchboard");
const path = join(folder, "workers.sock");
let switchboard: Switchboard | undefined;

afterAll(() => switchboard?.close());

function listen(workers: number): Switchboard {
  const clock = manualClock();
  const started = new Switchboard({
    logs: new SharedLog({
      windowsMs: { broadcast: 60_000, control: 60_000 },
      maxBytes: 1_000,
      files: { broadcast: null, control: null },
      clock,
      steady: clock,
    }),
    limits: new InstanceLimits({ maxConnections: 3, maxConnectionsPerUser: 2, connectRate: 0 }, clock),
    metrics: () => Promise.reject(new Error("not used")),
    workers,
    isDraining: () => false,
    onServing() {},
    onDrained() {},
    clock,
    log: pino({ level: "silent" }),
  });
  started.listen(path);
  switchboard = started;
  return started;
}

test("all workers may connect before the first of them shows its secret", async () => {
  const workers = 64;
  const started = listen(workers);
  let closed = 0;
  const connect = () => Bun.connect({ unix: path, socket: { data() {}, close: () => void closed++ } });
  const sockets = await Promise.all(Array.from({ length: workers }, connect));
  sockets.forEach((socket, index) => {
    started.expect(index + 1, `secret ${index + 1}`);
    const writer = new FrameWriter(socket);
    writer.send({ type: "hello", secret: `secret ${index + 1}` });
    writer.flush();
  });
  await eventually("each is admitted or closed", () => [...started.peers].length + closed === workers);
  expect(closed).toBe(0);
});
