// MicroTime of Kubernetes: RFC 3339 with six decimals.

export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
