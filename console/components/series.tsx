import { clockText } from "../time-text.ts";

interface Point {
  at: string;
}

const width = 300;
const height = 56;

/** Points in a row without a missing step between them: a gap is drawn as a gap, not as a line or as zero. */
export function unbroken<P extends Point>(points: readonly P[], stepMs: number): P[][] {
  const parts: P[][] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    const atMs = Date.parse(point.at);
    if (atMs - lastMs > stepMs) parts.push([]);
    parts.at(-1)?.push(point);
    lastMs = atMs;
  }
  return parts;
}

/** A small plot of one amount over time. It is drawn for the eye; the figures beside its title say it in words. */
export function Series<P extends Point>({
  title,
  figures,
  parts,
  amountOf,
  kind,
  axis,
  marks = [],
  atLeast = 1,
}: {
  title: string;
  figures: string;
  parts: P[][];
  amountOf: (point: P) => number;
  kind: string;
  axis: { endMs: number; spanMs: number };
  /** Moments at which something began. */
  marks?: { at: string; title: string }[];
  /** The height of the plot is at least this amount. */
  atLeast?: number;
}) {
  const most = Math.max(atLeast, ...parts.flat().map(amountOf));
  const x = (point: Point) =>
    Math.min(Math.max(width - ((axis.endMs - Date.parse(point.at)) / axis.spanMs) * width, 0), width);
  const y = (value: number) => height - 2 - (value / most) * (height - 6);
  return (
    <figure className="series" data-kind={kind}>
      <figcaption>
        <span>{title}</span>
        <span className="figures dim">{figures}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {parts.map((points) => {
          const places = points.map((point) => [x(point), y(amountOf(point))] as const);
          const [firstX] = places[0] ?? [0];
          const [lastX, lastY] = places.at(-1) ?? [0, height];
          // A single point is as wide as a pixel or two, so that it can be seen.
          const endX = Math.max(lastX, firstX + 1.5);
          const line = [...places, [endX, lastY] as const]
            .map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`)
            .join(" ");
          return (
            <g key={points[0]?.at}>
              <polygon points={`${firstX.toFixed(1)},${height} ${line} ${endX.toFixed(1)},${height}`} />
              <polyline points={line} />
            </g>
          );
        })}
        {marks.map((mark) => (
          <line key={`${mark.at} ${mark.title}`} x1={x(mark)} x2={x(mark)} y1={0} y2={height}>
            <title>{mark.title}</title>
          </line>
        ))}
      </svg>
      <div className="series-axis dim" aria-hidden="true">
        {[1, 0.5, 0].map((part) => (
          <span key={part}>{clockText(axis.endMs - part * axis.spanMs)}</span>
        ))}
      </div>
    </figure>
  );
}
