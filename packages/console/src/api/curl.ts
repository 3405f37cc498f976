// curl command: a REST request as a command line. It contains $TOKEN instead of the token, because it may be pasted anywhere.
export type HttpRequest = { method: string; path: string; body?: unknown };

export function curlCommand({ method, path, body }: HttpRequest, base: string): string {
  const parts = ['curl', '-sS'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push('-H', '"Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(JSON.stringify(body)));
  return [...parts, quoted(new URL(path, base).href)].join(' ');
}

/** Quotes for a POSIX shell, so that nothing is expanded. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
