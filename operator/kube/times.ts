// Times of Kubernetes objects.

/** Time: RFC 3339 in seconds. */
export function timeText(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** MicroTime: RFC 3339 with six decimals. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
