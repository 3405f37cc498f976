// Which browser pages may open a socket: the Origin header (RFC 6454, section 7) against SVC_CHECK_ORIGIN.

/** `same-host`: the host that was asked, or the node's own address; a list: origins (`https://app.example.com`) or hosts. */
export type OriginRule = 'any' | 'same-host' | readonly string[];

/**
 * Whether a page of this origin may open a socket. Programs that are no browsers send no Origin: the token protects, not this.
 * `host` is the request's Host header, `address` the node's own `host[:port][/path]`.
 */
export function isAllowedOrigin(rule: OriginRule, origin: string | undefined, host: string | undefined, address: string): boolean {
  if (rule === 'any' || origin === undefined) return true;
  const from = URL.parse(origin);
  if (!from || from.host === '') return false;
  const matches = (entry: string) => {
    const allowed = URL.parse(entry.includes('://') ? entry : `${from.protocol}//${entry}`);
    return allowed !== null && allowed.origin === from.origin && allowed.origin !== 'null';
  };
  return (rule === 'same-host' ? [host, address] : rule).some((entry) => entry !== undefined && matches(entry));
}
