import { cpus } from "node:os";
import type { Benchmark, BenchmarkResult, Table } from "./benchmark.ts";

/** What the page says of the machine during a run. */
export interface MachineState {
  isBusy: boolean;
  /** "other programs used 1.2 % of the machine, its host took 0.4 %" */
  use: string;
}

/** docs/performance.md: one section per benchmark between two marks, so that a run replaces only what it measured. */
export function updatePage(
  page: string,
  benchmark: Benchmark,
  result: BenchmarkResult,
  machine: MachineState,
): string {
  const [start, end] = [`<!-- bench ${benchmark.name} -->`, `<!-- end ${benchmark.name} -->`];
  const section = `${start}\n${sectionOf(benchmark, result, machine)}${end}`;
  const known = page.indexOf(start);
  if (known < 0) return `${page.trimEnd()}\n\n${section}\n`;
  return page.slice(0, known) + section + page.slice(page.indexOf(end) + end.length);
}

export const emptyPage = `# Performance

Written by \`npm run bench\`; \`npm run bench -- fan-out\` measures one part again. What counts are the ratios: peers run side by side on
the same machine, in the same run. Load generators are processes of their own. A section that says how much
other programs used was measured on an idle machine, unless its title says otherwise.
`;

function sectionOf(
  benchmark: Benchmark,
  { figures, tables, plots }: BenchmarkResult,
  { isBusy, use }: MachineState,
): string {
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
  const hardware = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}, Bun ${Bun.version}, ${new Date().toISOString().slice(0, 10)}`;
  return [
    `## ${benchmark.title}${isBusy ? " (on a busy machine)" : ""}\n`,
    `${benchmark.method}\n`,
    `Measured on ${hardware}; ${use}.\n`,
    ...(figures.length > 0 ? [markdownTable(summary)] : []),
    ...tables.map((table) => `${table.title}:\n\n${markdownTable(table)}`),
    ...plots.map((plot) => `![${plot.title}](${plot.file}.svg)\n`),
  ].join("\n");
}

function markdownTable({ head, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return `${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}\n`;
}
