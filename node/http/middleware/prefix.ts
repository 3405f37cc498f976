// The path that SVC_HOST may hold: every route answers below it too.

/** The path of `host[:port][/path]` without a slash at its end; '' where it has none. */
export function pathPrefixOfHost(host: string): string {
  const slash = host.indexOf('/');
  return slash < 0 ? '' : host.slice(slash).replace(/\/+$/, '');
}

/** The URL of a request without `prefix`, where it starts with that. */
export function stripPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url;
  const rest = url.slice(prefix.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url;
}
