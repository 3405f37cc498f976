// Chart: recent values as a line, the latest value as text, and a label for screen readers.
export type ChartProps = {
  label: string;
  /** The newest last; null if nothing was measured. */
  values: readonly (number | null)[];
  /** Number of values that fit into the width; fewer values are aligned right. */
  capacity: number;
  format: (value: number | null) => string;
  /** Minimum value at full height, so that noise stays small. */
  minScale: number;
  testId?: string;
};

const width = 120;
const height = 30;

export function Chart({ label, values, capacity, format, minScale, testId }: ChartProps) {
  const shown = values.slice(-capacity);
  const known = shown.filter((value) => value !== null);
  const max = Math.max(minScale, ...known);
  const now = shown.at(-1) ?? null;
  const lines = linesOf(shown, capacity, max);
  const summary = known.length === 0 ? 'no data yet' : `now ${format(now)}, maximum ${format(Math.max(...known))}`;
  return (
    <figure className="chart" data-testid={testId} data-points={known.length}>
      <figcaption>
        <span>{label}</span>
        <strong>{format(now)}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${summary}`}>
        {lines.map(([first, ...rest]) => {
          const points = [first, ...rest].map((point) => point?.join(',')).join(' ');
          const last = rest.at(-1) ?? first;
          return (
            <g key={first?.[0]}>
              <polygon className="chart-area" points={`${first?.[0]},${height} ${points} ${last?.[0]},${height}`} />
              <polyline className="chart-line" points={points} vectorEffect="non-scaling-stroke" />
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

type Point = readonly [x: number, y: number];

/** Splits the values into runs without gaps. */
function linesOf(values: readonly (number | null)[], capacity: number, max: number): Point[][] {
  const step = width / Math.max(1, capacity - 1);
  const start = width - step * (values.length - 1);
  const lines: Point[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) lines.push([]);
    else lines.at(-1)?.push([round(start + step * index), round(height - 1.5 - (value / max) * (height - 3))]);
  });
  return lines
    .filter((line) => line.length > 0)
    .map((line) => (line.length === 1 ? [line[0] as Point, alongside(line[0] as Point)] : line));
}

/** Extends a single value to a short visible line. */
function alongside([x, y]: Point): Point {
  return [round(x - 1), y];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
