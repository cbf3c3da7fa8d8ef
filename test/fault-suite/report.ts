import { type RoundResult, replayCommand, violationLines } from "./results.ts";

/** Summarizes the rounds of one or several parts. */
export function reportOf(results: RoundResult[]): string {
  const lines: string[] = [];
  const setups = [...new Set(results.map(({ setup }) => setup))];
  const faults = results.flatMap(({ setup, faults }) => faults.map((fault) => ({ ...fault, setup })));
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort();
  const row = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  lines.push(row(["fault", ...setups, "all"]), row(["---", ...setups.map(() => "---:"), "---:"]));
  const count = (kind?: string, setup?: string) =>
    faults.filter((fault) => (!kind || fault.kind === kind) && (!setup || fault.setup === setup)).length;
  for (const kind of kinds)
    lines.push(row([kind, ...setups.map((setup) => count(kind, setup)), count(kind)]));
  lines.push(row(["all", ...setups.map((setup) => count(undefined, setup)), count()]));
  lines.push("", loadLine(results), longestLine(results));
  const minutes = setups.map((setup) => {
    const seconds = results
      .filter((result) => result.setup === setup)
      .reduce((sum, { seconds }) => sum + seconds, 0);
    return `${setup} ${(seconds / 60).toFixed(1)} min (${(count(undefined, setup) / (seconds / 60)).toFixed(1)} faults a minute)`;
  });
  lines.push(
    `Time: ${minutes.join(", ")}. Seeds: ${[...new Set(results.map(({ seed }) => seed))].join(", ")}.`,
  );
  const bad = results.filter(({ violations }) => violations.length > 0);
  for (const result of bad) {
    lines.push("", `${result.setup}, seed ${result.seed}, round ${result.round}: ${replayCommand(result)}`);
    for (const line of violationLines(result.violations)) lines.push(`  ${line}`);
  }
  const violations = bad.reduce((sum, result) => sum + result.violations.length, 0);
  lines.push("", `${faults.length} faults, ${violations} violations`);
  return lines.join("\n");
}

function longestLine(results: RoundResult[]): string {
  const names = [...new Set(results.flatMap(({ longest }) => Object.keys(longest)))];
  const most = (name: string) => Math.max(...results.map(({ longest }) => longest[name] ?? 0));
  return `Services, at most: ${names.map((name) => `${most(name)} ${name}`).join(", ")}.`;
}

function loadLine(results: RoundResult[]): string {
  const sums = new Map<string, number>();
  for (const { load } of results)
    for (const [name, value] of Object.entries(load)) sums.set(name, (sums.get(name) ?? 0) + value);
  return `Load: ${[...sums].map(([name, value]) => `${value} ${name}`).join(", ")}.`;
}
