// Formatting of stats: bitrates, shares and round-trip times.

export function bitrateText(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(value >= 10_000_000 ? 0 : 1)} Mb/s`;
  return value >= 1_000 ? `${Math.round(value / 1_000)} kb/s` : `${Math.round(value)} b/s`;
}

export function shareText(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const percent = value * 100;
  return `${percent === 0 || percent >= 10 ? Math.round(percent) : percent.toFixed(1)} %`;
}

export function timeText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`;
}
