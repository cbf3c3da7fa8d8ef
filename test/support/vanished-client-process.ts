import { startGateway } from "./gateway-server.ts";
import { RawStream } from "./raw-stream.ts";

/**
 * Runs in a network namespace of its own. The only network device goes down while an event stream is open: its client
 * vanishes without a close. Prints after how many milliseconds its user is offline; -1: not within the time given.
 */
const [pingMs = 0, pongMs = 0, withinMs = 0] = process.argv.slice(2).map(Number);

function setDevice(state: "up" | "down"): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", "link", "set", "lo", state]);
  if (exitCode !== 0) throw new Error(`ip link set lo ${state}: ${stderr}`);
}

setDevice("up");
const { gateway, port } = await startGateway({ "push.ping-interval": pingMs, "push.pong-timeout": pongMs });
await new RawStream(port).upgrade("/sse?code=ann");
// A client that reads is not taken for one that vanished.
await Bun.sleep(2 * pongMs);
if (gateway.connections.onlineUsers().length !== 1) throw new Error("the client is not online");
setDevice("down");
const startedAt = performance.now();
const passedMs = () => performance.now() - startedAt;
// How often it looks.
while (gateway.connections.onlineUsers().length > 0 && passedMs() < withinMs) await Bun.sleep(20);
process.stdout.write(gateway.connections.onlineUsers().length > 0 ? "-1" : String(Math.round(passedMs())));
process.exit(0);
