/** One line of the summary table: the measured value and the target. */
export interface Figure {
  name: string;
  measured: string;
  toReach: string;
  isReached: boolean;
}

export interface Table {
  title: string;
  head: string[];
  rows: string[][];
}

export interface Bar {
  label: string;
  value: number;
}

interface PlotHead {
  /** Name of the file beside docs/performance.md, without `.svg`. */
  file: string;
  title: string;
  unit: string;
}

export interface BarPlot extends PlotHead {
  bars: Bar[];
}

/** Values over time. */
export interface LinePlot extends PlotHead {
  points: { minutes: number; value: number }[];
}

export type Plot = BarPlot | LinePlot;

export interface BenchmarkResult {
  figures: Figure[];
  tables: Table[];
  plots: Plot[];
}

/** A section of docs/performance.md and the measurement behind it. */
export interface Benchmark {
  /** Name on the command line: `npm run bench -- fan-out`. */
  name: string;
  title: string;
  /** How it is measured, for the page. */
  method: string;
  /** Takes so long that it runs only when it is named. */
  isLong?: boolean;
  run(progress: (message: string) => void): Promise<BenchmarkResult>;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? 0)) / 2;
}

/** Rounds to about three significant digits. */
export function digits(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
