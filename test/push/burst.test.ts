import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { ReadersEvent } from "../support/counting-readers-process.ts";
import { eventually } from "../support/eventually.ts";
import { type GatewayServer, startGateway } from "../support/gateway-server.ts";
import { RawSocket } from "../support/raw-socket.ts";

const mebibyte = 1024 * 1024;
const perProcess = 25;
const stalledCount = 3;
const minuteMs = 60_000;
const children: Bun.Subprocess[] = [];
const stalled: RawSocket[] = [];
let server: GatewayServer;

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  for (const client of stalled.splice(0)) client.end();
  await server.stop();
});

test("40 messages of 1 MiB at once reach 100 raw clients that read, in bounded memory, beside others that do not", async () => {
  // Pings would be among the bytes that are counted, and these clients answer none.
  server = await startGateway({ "push.ping-interval": 10 * minuteMs, "push.pong-timeout": 20 * minuteMs });
  const { gateway } = server;
  // A frame has a head of ten bytes.
  const frameBytes = mebibyte + 10;
  const events: ReadersEvent[] = [];
  const count = (event: ReadersEvent) => events.filter((each) => each === event).length;
  const program = join(import.meta.dir, "../support/counting-readers-process.ts");
  for (const name of ["ann", "bob", "cat", "dan"])
    children.push(
      Bun.spawn([process.execPath, program, `${server.port}`, name, `${perProcess}`, `${40 * frameBytes}`], {
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (event) => events.push(event as ReadersEvent),
      }),
    );
  await eventually("all are connected", () => count("connected") === children.length);
  for (let index = 0; index < stalledCount; index++) {
    const client = new RawSocket(server.port);
    await client.upgrade(`/ws?code=stalled-${index}`);
    client.pause();
    stalled.push(client);
  }
  const clients = gateway.connections.size;
  let largestBytes = 0;
  const isOver = () => {
    largestBytes = Math.max(largestBytes, gateway.sendBuffers.bufferedBytes);
    return count("complete") === children.length || count("closed") > 0;
  };
  const data = "x".repeat(mebibyte);
  for (let published = 0; published < 40; published++)
    void gateway.publisher.publish({ targetType: "all", target: "", data });
  await eventually("all is read", isOver, 240_000);
  expect(count("closed")).toBe(0);
  await eventually("those that do not read are closed", () => gateway.connections.size === perProcess * 4);
  expect(await server.metric('slipway_push_closes_total{code="4102"}')).toBe(stalledCount);
  // A turn begins when at most half of send-buffer-total is unsent, and one message of 1 MiB ends it.
  expect(largestBytes).toBeLessThanOrEqual(128 * mebibyte + clients * frameBytes);
  expect(await server.metric("slipway_push_dropped_total")).toBe(0);
}, 300_000);
