// Formatting: numbers, plurals and durations of the console.
export const formatNumber = (value: number): string => value.toLocaleString('en');

const pluralRules = new Intl.PluralRules('en');

/** The message for the plural form of the value, with the number in place of `#`. */
export function plural(value: number, one: string, other: string): string {
  return (pluralRules.select(value) === 'one' ? one : other).replace('#', formatNumber(value));
}

/** `1 room`, `1,200 rooms`. */
export function pluralize(value: number, one: string, many = `${one}s`): string {
  return plural(value, `# ${one}`, `# ${many}`);
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** The two largest units: `3 days 4 hours`, `5 minutes`, `0 seconds`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return '0 seconds';
  let rest = whole;
  const parts: string[] = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0) parts.push(pluralize(amount, name));
  }
  return parts.join(' ');
}
