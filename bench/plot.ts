import type { BarPlot, LinePlot, Plot } from "./benchmark.ts";

/** A chart that reads on light and dark pages. */
export function svgOf(plot: Plot): string {
  return "bars" in plot ? barsOf(plot) : lineOf(plot);
}

const barHeight = 22;
const labelWidth = 260;
const plotWidth = 420;

function barsOf(plot: BarPlot): string {
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

const lineWidth = 640;
const lineHeight = 140;

/** From zero to the largest value, over the whole time. */
function lineOf({ title, unit, points }: LinePlot): string {
  const most = Math.max(...points.map(({ value }) => value), 1e-9);
  const end = Math.max(...points.map(({ minutes }) => minutes), 1e-9);
  const at = ({ minutes, value }: LinePlot["points"][number]) =>
    `${((minutes / end) * lineWidth).toFixed(1)},${(30 + (1 - value / most) * lineHeight).toFixed(1)}`;
  const height = lineHeight + 56;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 0 ${lineWidth + 90} ${height}" width="${lineWidth + 90}" height="${height}" font-family="sans-serif" font-size="13" fill="#7b8794">
<title>${title}</title>
<text x="0" y="18" font-size="15" font-weight="bold">${title} (${unit})</text>
<path d="M0 30V${30 + lineHeight}H${lineWidth}" fill="none" stroke="#9aa5b1"/>
<text x="${lineWidth + 6}" y="36">${most.toFixed(1)}</text>
<text x="${lineWidth + 6}" y="${30 + lineHeight}">0</text>
<text x="${lineWidth}" y="${height - 8}" text-anchor="end">${end.toFixed(0)} minutes</text>
<polyline points="${points.map(at).join(" ")}" fill="none" stroke="#2f80ed" stroke-width="1.5"/>
</svg>
`;
}
