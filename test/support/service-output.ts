import type { OutputTextRequest, WantedOutput } from "../../src/runner/protocol.ts";
import type { ServiceScene } from "./service-scene.ts";

/** Output of a service on the runner of a scene, which answers those who read it until its server stops. */
export interface WrittenOutput {
  write(...lines: string[]): void;
  mark(kind: "release" | "start" | "cut", taskId: number): void;
}

export function answerOutput({ wanted, runner }: Pick<ServiceScene, "wanted" | "runner">): WrittenOutput {
  const lines: OutputTextRequest["lines"] = [];
  const marks: OutputTextRequest["marks"] = [];
  const waiting = new Set<() => void>();
  let to = 0;

  const inRange =
    (low: number, high: number) =>
    ({ position }: { position: number }) =>
      position >= low && position < high;

  function partOf({ position, direction, maxLines, search }: WantedOutput): Omit<OutputTextRequest, "id"> {
    const isForward = direction === "forward";
    const begin = position ?? (isForward ? 0 : to);
    const all = lines
      .filter(isForward ? inRange(begin, to) : inRange(0, begin))
      .filter(({ text }) => text.toLowerCase().includes(search.toLowerCase()));
    const found = isForward ? all.slice(0, maxLines) : all.slice(-maxLines);
    const edge = (isForward ? all[maxLines] : found[0])?.position ?? 0;
    const next = found.length < all.length ? edge : isForward ? to : 0;
    const between = inRange(Math.min(begin, next), Math.max(begin, next) + 1);
    return { lines: found, next, from: 0, to, marks: marks.filter(between) };
  }

  async function answer(asked: WantedOutput): Promise<void> {
    const endsAt = performance.now() + asked.waitMs;
    let part = partOf(asked);
    while (part.lines.length === 0 && asked.direction === "forward" && performance.now() < endsAt) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        setTimeout(resolve, endsAt - performance.now());
      });
      part = partOf(asked);
    }
    await runner.post("output-text", { id: asked.id, ...part });
  }

  async function serve(): Promise<never> {
    for (;;) for (const asked of await wanted()) void answer(asked).catch(() => {});
  }
  // The call fails when the server stops.
  serve().catch(() => {});

  return {
    write(...texts) {
      for (const text of texts) {
        lines.push({ position: to, text });
        to += text.length + 1;
      }
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
    mark: (kind, taskId) => void marks.push({ position: to, at: new Date().toISOString(), kind, taskId }),
  };
}
