// A call as a command line, with $TOKEN where the token goes: what is copied may be pasted anywhere.
export type HttpRequest = { method: string; path: string; body?: unknown };

export function curlCommand({ method, path, body }: HttpRequest, base: string): string {
  const parts = ['curl', '-sS'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push('-H', '"Authorization: Bearer $TOKEN"');
  if (body !== undefined) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(JSON.stringify(body)));
  return [...parts, quoted(new URL(path, base).href)].join(' ');
}

/** For a POSIX shell: nothing inside is expanded. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
