// Timestamps, lengths and byte sizes in readable form.
const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A dash in place of a missing value; `words` are for screen readers. */
export function EmptyValue({ words }: { words: string }) {
  return (
    <>
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">{words}</span>
    </>
  );
}

/** A point in time in the time zone and language of the browser. `time`: milliseconds since 1970; a dash if undefined. */
export function Timestamp({ time }: { time: number | undefined }) {
  if (time === undefined) return <EmptyValue words="unknown" />;
  return (
    <time className="moment" dateTime={new Date(time).toISOString()}>
      {dateAndTime.format(time)}
    </time>
  );
}

/** `1:02:03`, `2:03`, `0:03`. */
export function formatLength(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** `17 bytes`, `3.4 kB`, `120 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['kB', 'MB', 'GB', 'TB'];
  if (bytes < 1000) return `${bytes} bytes`;
  let value = bytes;
  let unit = '';
  for (const next of units) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
