// Origin check: decides which browser pages may open a websocket, by the Origin header (RFC 6454, section 7) and SVC_CHECK_ORIGIN.

/** `same-host`: the requested host, or the address of the node; a list: origins (`https://app.example.com`) or hosts. */
export type OriginRule = 'any' | 'same-host' | readonly string[];

/**
 * True if a page of this origin may open a socket. Clients other than browsers send no Origin; the token protects, not this check. `host`
 * is the Host header of the request, `address` the `host[:port][/path]` of the node.
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
