import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const axe = readFileSync(new URL(import.meta.resolve("axe-core")).pathname, "utf8");

export interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: string[];
}

/** WCAG 2.2 A and AA, and best practices. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Violations found by axe-core, which is evaluated directly: the page's policy forbids script elements. `only`: rules. */
export async function violations(page: Page, only: string[] = [], within = "html"): Promise<Violation[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(
    async ({ within, ...run }) => {
      type Found = Omit<Violation, "nodes"> & { nodes: { html: string; failureSummary: string }[] };
      const tool = (
        globalThis as unknown as {
          axe: { run(within: string, options: object): Promise<{ violations: Found[] }> };
        }
      ).axe;
      return (await tool.run(within, run)).violations.map((rule) => ({
        id: rule.id,
        impact: rule.impact,
        help: rule.help,
        nodes: rule.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`),
      }));
    },
    { within, runOnly: only.length > 0 ? { type: "rule", values: only } : { type: "tag", values: tags } },
  );
  return found
    .map((rule) => ({ ...rule, nodes: rule.nodes.filter((node) => !isExempt(rule.id, node)).slice(0, 4) }))
    .filter(({ nodes }) => nodes.length > 0);
}

/** WCAG 2.5.8 exempts targets whose size is constrained by the line height of other text: the numbers of log lines. */
function isExempt(rule: string, node: string): boolean {
  return rule === "target-size" && node.includes('class="log-number"');
}
