// Path prefix of SVC_HOST: every route is also served under it.

/** The URL of a request without `prefix`, if it starts with it. */
export function stripPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url;
  const rest = url.slice(prefix.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url;
}
