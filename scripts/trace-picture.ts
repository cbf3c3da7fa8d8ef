/** Draws docs/images/trace.svg: the spans of a real push, from `git push` to the message in an open tab. */
import { join } from "node:path";
import type { CollectedSpan } from "../test/support/otlp-collector.ts";
import { openTraceScene } from "../test/support/trace-scene.ts";

const rowHeight = 20;
const top = 52;
const labelWidth = 240;
const plotWidth = 560;
const indent = 14;
const ticks = 5;

const colours: Record<string, string> = {
  server: "#2f80ed",
  internal: "#56a36c",
  client: "#c77d2e",
  producer: "#8e5bd0",
  consumer: "#d0487f",
};
const meanings: Record<string, string> = {
  server: "request",
  internal: "work of Slipway and its runner",
  client: "call to another service",
  producer: "message sent",
  consumer: "message delivered",
};

const scene = await openTraceScene();
const { projectId, repository } = await scene.project({
  build: "sleep 0.4; echo built",
  deploy: "sleep 0.25; echo deployed",
});
const tab = await scene.openTab(projectId);
await repository.push({ "version.txt": "2\n" }, { message: "Sell pears" });
const taskId = await tab.event("task.succeeded");
const spans = await scene.collector.trace("task", { "slipway.task.id": taskId }, [
  "delivery > task > notification",
  "delivery > task > commit status",
  "delivery > task > message task.succeeded > publish > deliver",
]);
tab.close();
await Bun.write(join(import.meta.dir, "../docs/images/trace.svg"), svgOf(spans));
await scene.close();

interface Row {
  span: CollectedSpan;
  depth: number;
}

/** Each span after its parent, in the order of time. */
function rowsOf(all: CollectedSpan[], parentSpanId = "", depth = 0): Row[] {
  return all
    .filter((span) => span.parentSpanId === parentSpanId)
    .toSorted((a, b) => a.startMs - b.startMs || b.endMs - a.endMs)
    .flatMap((span) => [{ span, depth }, ...rowsOf(all, span.spanId, depth + 1)]);
}

/** A chart that reads on light and dark pages. */
function svgOf(all: CollectedSpan[]): string {
  const rows = rowsOf(all);
  const startMs = Math.min(...all.map((span) => span.startMs));
  const endMs = Math.max(...all.map((span) => span.endMs));
  const at = (ms: number) => labelWidth + ((ms - startMs) / (endMs - startMs)) * plotWidth;
  const bottom = top + rows.length * rowHeight;
  const grid = Array.from({ length: ticks + 1 }, (_, index) => {
    const ms = ((endMs - startMs) * index) / ticks;
    const x = at(startMs + ms).toFixed(1);
    return `<path d="M${x} ${top - 6}V${bottom}" stroke="#9aa5b1" stroke-opacity="0.35"/>
<text x="${x}" y="${top - 12}" text-anchor="middle">${Math.round(ms)} ms</text>`;
  });
  const bars = rows.map(({ span, depth }, index) => {
    const y = top + index * rowHeight;
    const width = Math.max(2, at(span.endMs) - at(span.startMs));
    const right = at(span.startMs) + width;
    const isNearEnd = right > labelWidth + plotWidth - 20;
    const x = isNearEnd && width < 60 ? at(span.startMs) - 5 : right + 5;
    const anchor = isNearEnd && width < 60 ? ' text-anchor="end"' : "";
    return `<text x="${8 + depth * indent}" y="${y + 14}">${span.name}</text>
<rect x="${at(span.startMs).toFixed(1)}" y="${y + 3}" width="${width.toFixed(1)}" height="${rowHeight - 7}" rx="2" fill="${colours[span.kind]}"/>
<text x="${x.toFixed(1)}" y="${y + 14}" font-size="11"${anchor}>${durationOf(span)}</text>`;
  });
  let legendX = 8;
  const legend = Object.entries(meanings).map(([kind, meaning]) => {
    const x = legendX;
    legendX += 30 + meaning.length * 7;
    return `<rect x="${x}" y="${bottom + 14}" width="11" height="11" rx="2" fill="${colours[kind]}"/>
<text x="${x + 16}" y="${bottom + 24}">${meaning}</text>`;
  });
  const [width, height] = [labelWidth + plotWidth + 70, bottom + 36];
  const title = `One push: ${all.length} spans of one trace, from the delivery to the message in the open tab`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12.5" fill="#7b8794">
<title>${title}</title>
<text x="8" y="20" font-size="15" font-weight="bold">${title}</text>
${[...grid, ...bars, ...legend].join("\n")}
</svg>
`;
}

function durationOf({ startMs, endMs }: CollectedSpan): string {
  const ms = endMs - startMs;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
