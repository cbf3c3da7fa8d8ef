import type { Random } from "../random.ts";
import type { Part } from "../setups/part.ts";
import { timePasses } from "../setups/part.ts";
import type { StepName, World } from "../setups/world.ts";
import type { FaultKind } from "./fault-kind.ts";
import { endInOrder, killNow, pause } from "./process-faults.ts";

/** A fault of a server or a runner at the moment when a release is in a certain step. */
function stepFault(
  head: Pick<FaultKind, "name" | "about" | "isSilent">,
  act: (part: Part, random: Random, world: World) => ReturnType<FaultKind["inject"]>,
): FaultKind {
  return {
    ...head,
    endsOthers: true,
    targets: ({ steps }) => steps,
    async inject(world, target, random, probe) {
      const parts = world.parts.filter(({ role }) => role === "server" || role === "runner");
      const part = random.pick(parts);
      const isReached = await probe.untilStep(target as StepName);
      const step = isReached ? `during ${target}` : `although ${target} was not reached`;
      world.timeline.add(`${head.name} of ${part.name} ${step}`);
      const found = await act(part, random, world);
      probe.stepIsOver();
      return found;
    },
  };
}

const killInStep = stepFault(
  { name: "kill-in-step", about: "kill -9 of a server or runner while a release is in this step" },
  async (part, random) => {
    await killNow(part);
    await timePasses(random.between(0, 1_500));
    await part.start();
  },
);

const terminateInStep = stepFault(
  { name: "terminate-in-step", about: "SIGTERM of a server or runner while a release is in this step" },
  async (part) => {
    const found = await endInOrder(part);
    await part.start();
    return found;
  },
);

const stopInStep = stepFault(
  {
    name: "stop-in-step",
    about: "SIGSTOP of a server or runner, sometimes beyond the lease, while a release is in this step",
    isSilent: true,
  },
  (part, random, { leaseMs }) =>
    pause(part, random.chance(0.5) ? random.between(500, 3_000) : leaseMs + random.between(1_500, 3_000)),
);

export const stepFaults = [killInStep, terminateInStep, stopInStep];
