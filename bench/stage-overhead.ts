/**
 * What a stage costs beside its script: without isolation, in a sandbox, and in a container.
 *
 *   node_modules/.bin/bun bench/stage-overhead.ts [tasks]
 */
import { startContainerScene } from "../test/support/container-scene.ts";
import { findPodman } from "../test/support/podman.ts";

const tasks = Number(process.argv[2] ?? 20);
const engineArguments = await findPodman();
const kinds = [
  { name: "without isolation", settings: { SLIPWAY_RUNNER_ISOLATION: "none" }, stage: { image: "" } },
  { name: "in a sandbox", settings: { SLIPWAY_RUNNER_ISOLATION: "sandbox" }, stage: { image: "" } },
  { name: "in a container", settings: {}, stage: {} },
  { name: "in a container without network", settings: {}, stage: { network: "none" as const } },
];

for (const { name, settings, stage } of kinds) {
  const scene = await startContainerScene(engineArguments, settings);
  const times: number[] = [];
  // One stage more or less, so that checkout and claim drop out.
  for (let round = 0; round < tasks; round++) {
    const one = await timed(() => scene.run({ build: "true" }, stage));
    const two = await timed(() => scene.run({ build: "true", deploy: "true" }, stage));
    times.push(two - one);
  }
  await scene.stop();
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(0);
  console.log(`${name.padEnd(32)} per stage: median ${at(0.5)} ms, 90 % ${at(0.9)} ms`);
}

async function timed(work: () => Promise<{ state: string }>): Promise<number> {
  const startedAt = performance.now();
  const { state } = await work();
  if (state !== "success") throw new Error(`A task ended as ${state}.`);
  return performance.now() - startedAt;
}
