import { cpus } from "node:os";
import type { Benchmark, BenchmarkResult, Plot, Table } from "./benchmark.ts";

/** docs/performance.md: one section per benchmark between two marks, so that a run replaces only what it measured. */
export function updatePage(page: string, benchmark: Benchmark, result: BenchmarkResult): string {
  const [start, end] = [`<!-- bench ${benchmark.name} -->`, `<!-- end ${benchmark.name} -->`];
  const section = `${start}\n${sectionOf(benchmark, result)}${end}`;
  const known = page.indexOf(start);
  if (known < 0) return `${page.trimEnd()}\n\n${section}\n`;
  return page.slice(0, known) + section + page.slice(page.indexOf(end) + end.length);
}

export const emptyPage = `# Performance

Written by \`npm run bench\`; \`npm run bench -- fan-out\` measures one part again. What counts are the ratios: peers run side by side on
the same machine, in the same run. Load generators are processes of their own.
`;

function sectionOf(benchmark: Benchmark, { figures, tables, plots }: BenchmarkResult): string {
  const summary: Table = {
    title: "",
    head: ["figure", "measured", "to reach", ""],
    rows: figures.map(({ name, measured, toReach, isReached }) => [
      name,
      `**${measured}**`,
      toReach,
      isReached ? "reached" : "**missed**",
    ]),
  };
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}, Bun ${Bun.version}, ${new Date().toISOString().slice(0, 10)}`;
  return [
    `## ${benchmark.title}\n`,
    `${benchmark.method}\n`,
    `Measured on ${machine}.\n`,
    markdownTable(summary),
    ...tables.map((table) => `${table.title}:\n\n${markdownTable(table)}`),
    ...plots.map((plot) => `![${plot.title}](${plot.file}.svg)\n`),
  ].join("\n");
}

function markdownTable({ head, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return `${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}\n`;
}

const barHeight = 22;
const labelWidth = 260;
const plotWidth = 420;

/** A bar chart that reads on light and dark pages. */
export function svgOf(plot: Plot): string {
  const most = Math.max(...plot.bars.map((bar) => bar.value));
  const height = 40 + plot.bars.length * (barHeight + 6);
  const bars = plot.bars.map(({ label, value }, index) => {
    const y = 34 + index * (barHeight + 6);
    const width = Math.max(1, (value / most) * plotWidth);
    const colour = label.startsWith("Slipway") ? "#2f80ed" : "#9aa5b1";
    return [
      `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${label}</text>`,
      `<rect x="${labelWidth}" y="${y}" width="${width.toFixed(1)}" height="${barHeight}" rx="3" fill="${colour}"/>`,
      `<text x="${(labelWidth + width + 6).toFixed(1)}" y="${y + 15}">${value.toFixed(2)} ${plot.unit}</text>`,
    ].join("\n");
  });
  const width = labelWidth + plotWidth + 90;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="13" fill="#7b8794">
<title>${plot.title}</title>
<text x="0" y="18" font-size="15" font-weight="bold">${plot.title} (${plot.unit}, less is better)</text>
${bars.join("\n")}
</svg>
`;
}
