import { parser } from "@prometheus-io/lezer-promql";

/** The metrics of a server: of each name the values of each label. */
export type Series = Map<string, Map<string, Set<string>>>;

/** Labels that Prometheus adds to what it scrapes, and its own metric about each scrape. */
const scrapeLabels = ["job", "instance"];
const ownMetrics = ["up"];

/** Reads the text of `/metrics`. A metric without values has no labels. */
export function readSeries(text: string): Series {
  const series: Series = new Map();
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = series.get(name) ?? new Map<string, Set<string>>();
    series.set(name, known);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      known.set(label, (known.get(label) ?? new Set()).add(value));
  }
  return series;
}

/** What is wrong with an expression: its syntax, a metric that a server does not have, a label, or a value of a label. */
export function faultsOf(expression: string, series: Series): string[] {
  // Variables of Grafana are no PromQL.
  const text = expression.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*");
  const faults: string[] = [];
  const used = new Set<string>(scrapeLabels);
  const grouped: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      const part = text.slice(from, to);
      if (type.isError) faults.push(`syntax error at ${from}: ${part}`);
      if (type.name === "GroupingLabels")
        for (const label of node.getChildren("LabelName")) grouped.push(text.slice(label.from, label.to));
      if (type.name !== "VectorSelector") return;
      const name = /^\w+/.exec(part)?.[0] ?? "";
      const labels = ownMetrics.includes(name) ? new Map<string, Set<string>>() : series.get(name);
      if (labels === undefined) return void faults.push(`there is no metric ${name}`);
      for (const label of labels.keys()) used.add(label);
      for (const [, label = "", , values = ""] of part.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g))
        faults.push(...matcherFaults(name, labels, label, values));
    },
  });
  for (const label of grouped)
    if (!used.has(label)) faults.push(`no metric of the expression has the label ${label}`);
  return faults;
}

function matcherFaults(
  name: string,
  labels: ReadonlyMap<string, ReadonlySet<string>>,
  label: string,
  values: string,
): string[] {
  if (scrapeLabels.includes(label)) return [];
  const known = labels.get(label);
  if (known === undefined) return [`${name} has no label ${label}`];
  const wrong = values.split("|").filter((value) => !known.has(value));
  return wrong.map((value) => `${name} never has ${label}="${value}"`);
}
