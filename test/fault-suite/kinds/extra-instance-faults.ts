import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { Api } from "../load/api.ts";
import { type Violation, violation } from "../reconciler/violation.ts";
import { timePasses, until } from "../setups/part.ts";
import { answersReady, slipwayPart } from "../setups/slipway-process.ts";
import type { World } from "../setups/world.ts";
import { type FaultKind, instanceNames } from "./fault-kind.ts";

const refusalLimitMs = 120_000;
const startLimitMs = 90_000;

function extraInstance(world: World, port: number, folder: string) {
  mkdirSync(folder, { recursive: true });
  return slipwayPart({
    name: "extra instance",
    role: "server",
    program: world.program,
    command: "start",
    flags: {
      "server-listen": `127.0.0.1:${port}`,
      "data-dir": folder,
      "runner-enabled": "false",
      "log-format": "json",
    },
    logFile: join(world.folder, "extra-instance.log"),
    isReady: () => answersReady(`http://127.0.0.1:${port}`),
  });
}

/** Sockets that listen on a port of this machine. */
function listenersOn(port: number): number {
  const listening = "0A";
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = "", , state]) =>
        state === listening && Number.parseInt(local.split(":")[1] ?? "", 16) === port,
    ).length;
}

const samePort: FaultKind = {
  name: "same-port",
  about: "somebody starts a second server on the port of a running one",
  targets: instanceNames,
  async inject(world, target) {
    const port = world.instances.find(({ part }) => part.name === target)?.port ?? 0;
    const folder = join(world.folder, "extra-instance");
    const extra = extraInstance(world, port, folder);
    // Workers of one gateway share its port.
    const before = listenersOn(port);
    await extra.start();
    const isListening = () => extra.isRunning() && listenersOn(port) > before;
    await until(() => !extra.isRunning() || isListening(), refusalLimitMs);
    // On a busy machine it may still be starting.
    const isSecond = isListening();
    extra.signal("SIGKILL");
    await extra.ended(10_000);
    rmSync(folder, { recursive: true, force: true });
    return isSecond ? [violation("second-instance", `a second server listens on port ${port}`)] : undefined;
  },
};

const firstStart: FaultKind = {
  name: "first-start",
  about: "a new installation is killed while it starts for the first time; at readiness its admin signs in",
  targets: ({ setup }) => (setup === "sqlite" ? ["new installation"] : []),
  async inject(world, _target, random) {
    const port = freePort();
    const folder = join(world.folder, `new-installation-${port}`);
    const part = extraInstance(world, port, folder);
    const url = `http://127.0.0.1:${port}`;
    if (random.chance(0.5)) {
      await part.start();
      await timePasses(random.between(50, 1_500));
      part.signal("SIGKILL");
      await part.ended(10_000);
    }
    await part.start();
    const found: Violation[] = [];
    if (!(await until(() => answersReady(url), startLimitMs, 2)))
      found.push(violation("not-recovered", `a new installation is not ready: ${part.output().slice(-500)}`));
    else {
      const { status } = await Api.signIn({ part, url, front: url, dataDir: folder, port, upstream: [] });
      if (status !== 200)
        found.push(
          violation("ready-but-unusable", `the first login after /readyz 200 was answered ${status}`),
        );
    }
    part.signal("SIGKILL");
    await part.ended(10_000);
    rmSync(folder, { recursive: true, force: true });
    return found;
  },
};

export const extraInstanceFaults = [samePort, firstStart];
