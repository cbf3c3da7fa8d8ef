/**
 * How long after the SIGKILL of a service its port stays in the file that the proxy reads. Another program of the machine that takes
 * the port within this time would get requests of the service.
 *
 *   bun bench/port-gap.ts [rounds]
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { holdersOf, listeningSockets } from "../src/runner/keeper/port-holders.ts";
import { eventually } from "../test/support/eventually.ts";
import { openRouteScene, routeOf } from "../test/support/route-scene.ts";
import { serviceUrl } from "../test/support/services.ts";

const caddy = await serviceUrl("caddy");
const rounds = Number(process.argv[2] ?? 50);

for (const kind of (await serviceUrl("bwrap")) ? (["none", "sandbox"] as const) : (["none"] as const)) {
  const scene = await openRouteScene(kind, { caddyProgram: caddy });
  const gaps: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await scene.deploy(scene.release([scene.web("gap", [routeOf("gap.test")])]));
    const port = scene.report()?.port ?? 0;
    const file = join(scene.instance(), "port");
    await eventually("the port is shown", () => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
    const [holder] = holdersOf(listeningSockets(port));
    if (holder === undefined) throw new Error(`nothing listens on ${port}`);
    process.kill(holder.pid, "SIGKILL");
    const killedAt = performance.now();
    while (statSync(file).size !== 0)
      if (performance.now() - killedAt > 5000) throw new Error("the port stays");
    gaps.push(performance.now() - killedAt);
  }
  await scene.stop();
  const sorted = gaps.toSorted((one, other) => one - other);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
  console.log(`${kind}: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms of ${rounds}`);
}
