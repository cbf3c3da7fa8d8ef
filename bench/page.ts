import { cpus, loadavg } from "node:os";
import type { Benchmark, BenchmarkResult, Table } from "./benchmark.ts";

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
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}, Bun ${Bun.version}, ${new Date().toISOString().slice(0, 10)}, load average ${(loadavg()[0] ?? 0).toFixed(1)}`;
  return [
    `## ${benchmark.title}\n`,
    `${benchmark.method}\n`,
    `Measured on ${machine}.\n`,
    ...(figures.length > 0 ? [markdownTable(summary)] : []),
    ...tables.map((table) => `${table.title}:\n\n${markdownTable(table)}`),
    ...plots.map((plot) => `![${plot.title}](${plot.file}.svg)\n`),
  ].join("\n");
}

function markdownTable({ head, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return `${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}\n`;
}
