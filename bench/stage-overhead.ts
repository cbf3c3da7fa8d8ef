/**
 * What a step costs beside its script: without isolation, in a sandbox, and in a container; and how long checkout and seal of
 * a workspace of 300 MB take.
 *
 *   node_modules/.bin/bun bench/stage-overhead.ts [tasks]
 */
import { startContainerScene } from "../test/support/container-scene.ts";
import { sampleInstruction } from "../test/support/fake-server.ts";
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
  // Ten steps more or less, so that checkout and claim drop out.
  for (let round = 0; round < tasks; round++) {
    const one = await timed(() => scene.run({}, stage, { stages: buildOf(1) }));
    const many = await timed(() => scene.run({}, stage, { stages: buildOf(11) }));
    times.push((many - one) / 10);
  }
  await scene.stop();
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(0);
  console.log(`${name.padEnd(32)} per step: median ${at(0.5)} ms, 90 % ${at(0.9)} ms`);
}

const scene = await startContainerScene(engineArguments, { SLIPWAY_RUNNER_ISOLATION: "sandbox" });
const large = crypto.getRandomValues(new Uint8Array(30_000)).toHex().repeat(5);
await scene.repository.push(
  Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`files/${index}`, `${index}${large}`])),
);
const approval = { step: "build", keepUntil: Date.now() + 3_600_000 } as const;
await scene.run({ build: "true" }, { image: "" });
const plain = await timed(() => scene.run({ build: "true" }, { image: "" }));
const sealed = await timed(() => scene.run({ build: "true" }, { image: "" }, { approval }));
await scene.stop();
console.log(`300 MB: checkout ${plain.toFixed(0)} ms, with seal ${sealed.toFixed(0)} ms`);

/** The stage build with this many steps. */
function buildOf(count: number) {
  return sampleInstruction("", { build: "true" }).stages.map((stage) => ({
    ...stage,
    steps: stage.steps.flatMap((step) =>
      Array.from({ length: count }, (_, index) => ({ ...step, name: `step-${index}` })),
    ),
  }));
}

async function timed(work: () => Promise<{ state: string }>): Promise<number> {
  const startedAt = performance.now();
  const { state } = await work();
  if (state !== "success") throw new Error(`A task ended as ${state}.`);
  return performance.now() - startedAt;
}
