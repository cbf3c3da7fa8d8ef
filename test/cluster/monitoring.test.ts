import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { faultsOf, readSeries, type Series } from "../support/promql.ts";
import { serviceUrl } from "../support/services.ts";
import { openTraceScene } from "../support/trace-scene.ts";

const deploy = join(import.meta.dir, "../../deploy");
const read = (file: string) => readFileSync(join(deploy, file), "utf8");

interface Panel {
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

const dashboard = JSON.parse(read("grafana/slipway.json")) as {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string; query: string }[] };
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const { groups } = YAML.parse(read("prometheus/alerts.yaml")) as {
  groups: { name: string; rules: Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

const amqp = await serviceUrl("amqp");

describe.skipIf(amqp === undefined)("with the metrics of a server that has a broker and all settings", () => {
  let scene: Awaited<ReturnType<typeof openTraceScene>>;
  let series: Series;

  beforeAll(async () => {
    scene = await openTraceScene({
      "push.cluster-enabled": true,
      "push.queue.url": amqp ?? "",
      "push.queue.prefix": freshPrefix(),
      "push.events-uri": "http://127.0.0.1:9/",
    });
    const { projectId } = await scene.project({ build: "true" });
    const tab = await scene.openTab(projectId);
    tab.close();
    // Labels whose values are not known before appear with the first event.
    await eventually("everything was counted once", async () => {
      series = readSeries(await (await fetch(`${scene.server.url}/metrics`)).text());
      const labels = [
        "slipway_push_closes_total",
        "slipway_push_admissions_total",
        "slipway_api_requests_total",
      ];
      return labels.every((name) => (series.get(name)?.size ?? 0) > 0);
    });
  });
  afterAll(() => scene?.close());

  test.each(panels.map((panel) => [panel.title, panel] as const))("panel: %s", (_, { targets = [] }) => {
    expect(targets.length).toBeGreaterThan(0);
    for (const { expr, legendFormat } of targets) {
      expect(faultsOf(expr, series), expr).toEqual([]);
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(expr).toContain(label);
    }
  });

  test("the variables of the dashboard", () => {
    for (const { query } of dashboard.templating.list.filter(({ name }) => name !== "datasource")) {
      const [, expression = ""] = /^label_values\((.*), \w+\)$/.exec(query) ?? [];
      expect(faultsOf(expression, series), query).toEqual([]);
    }
  });

  test.each(rules.map((rule) => [rule.alert, rule] as const))("alert: %s", (_, { expr, annotations }) => {
    expect(faultsOf(expr, series), expr).toEqual([]);
    const labels = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string);
    const isAggregated = /\bby \(/.test(expr);
    for (const label of labels)
      if (isAggregated) expect(expr).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`));
  });
});

test("panels have places of their own, and alerts names, severities and advice", () => {
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  expect(new Set(places).size).toBe(places.length);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const rule of rules) {
    expect(["critical", "warning"]).toContain(rule.labels.severity);
    expect(rule.annotations.summary).toMatch(/\.$/);
    expect(rule.annotations.description).toMatch(/\.$/);
    expect(rule.for ?? "1m").toMatch(/^\d+[mh]$/);
  }
});

test("a wrong name, label, value or a mistake of the syntax is found", () => {
  const series = readSeries('slipway_tasks{state="queued"} 1\nslipway_up 1\n');
  expect(faultsOf('sum by (state) (slipway_tasks{state="queued",job="a"}) > 0', series)).toEqual([]);
  expect(faultsOf("slipway_task > 0", series)).toEqual(["there is no metric slipway_task"]);
  expect(faultsOf('slipway_tasks{status="queued"}', series)).toEqual(["slipway_tasks has no label status"]);
  expect(faultsOf('slipway_tasks{state=~"queued|lost"}', series)).toEqual([
    'slipway_tasks never has state="lost"',
  ]);
  expect(faultsOf("sum by (kind) (slipway_tasks)", series)).toEqual([
    "no metric of the expression has the label kind",
  ]);
  expect(faultsOf("sum(slipway_up", series)).not.toEqual([]);
});
