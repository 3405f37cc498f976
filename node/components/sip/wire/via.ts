// Via headers (RFC 3261, section 18; RFC 3581): routes responses, and translates the local Via between SIP.js and the network.
import { isIP } from 'node:net';
import { hostInUri, type SipTransport } from './registrar.ts';

export type Via = { transport: string; host: string; port: number | undefined; params: Map<string, string | undefined> };

const form =
  /^SIP[ \t]*\/[ \t]*2\.0[ \t]*\/[ \t]*([A-Za-z0-9-]{1,16})[ \t]+(\[[0-9A-Fa-f:.]+\]|[^\s:;,[\]]{1,253})[ \t]*(?::[ \t]*(\d{1,5}))?[ \t]*(;.*)?$/i;
const param = /^([A-Za-z0-9\-.!%*_+`'~]{1,64})(?:[ \t]*=[ \t]*("[^"]*"|[^\s;,"]{1,256}))?$/;

/** First Via of a header. @returns undefined if it is invalid */
export function parseVia(value: string): Via | undefined {
  const match = form.exec(firstOf(value).trim());
  if (!match) return undefined;
  const [, transport = '', host = '', port, rest = ''] = match;
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined;
  const params = new Map<string, string | undefined>();
  for (const each of rest.split(';').slice(1)) {
    const found = param.exec(each.trim());
    if (!found?.[1]) return undefined;
    params.set(found[1].toLowerCase(), found[2]);
  }
  return { transport: transport.toUpperCase(), host, port: port === undefined ? undefined : Number(port), params };
}

function formatVia({ transport, host, port, params }: Via): string {
  const rest = [...params].map(([name, value]) => (value === undefined ? `;${name}` : `;${name}=${value}`)).join('');
  return `SIP/2.0/${transport} ${host}${port === undefined ? '' : `:${port}`}${rest}`;
}

/** Adds the source address to the Via of a request (RFC 3261, section 18.2.1; RFC 3581, section 4). Other values in the header stay. */
export function addReceivedAndRport(value: string, ip: string, port: number): string | undefined {
  const via = parseVia(value);
  if (!via) return undefined;
  // Values from the sender are not trusted.
  via.params.delete('received');
  if (bare(via.host) !== ip) via.params.set('received', hostInUri(ip));
  if (via.params.has('rport')) {
    via.params.set('rport', String(port));
    via.params.set('received', hostInUri(ip));
  }
  return `${formatVia(via)}${value.slice(firstOf(value).length)}`;
}

/** Destination of a response whose topmost Via was marked by addReceivedAndRport(). */
export function responseAddress(value: string): { ip: string; port: number } | undefined {
  const via = parseVia(value);
  if (!via) return undefined;
  const ip = bare(via.params.get('received') ?? via.host);
  if (isIP(ip) === 0) return undefined;
  return { ip, port: Number(via.params.get('rport') ?? via.port ?? 5060) };
}

/** Local Via for the network. SIP.js accepts no port in it. */
export function withViaPort(value: string, transport: SipTransport, port: number): string {
  const via = parseVia(value);
  return via ? formatVia({ ...via, transport, port }) : value;
}

function bare(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

function firstOf(value: string): string {
  let quoted = false;
  for (let at = 0; at < value.length; at += 1) {
    if (value[at] === '"') quoted = !quoted;
    else if (value[at] === ',' && !quoted) return value.slice(0, at);
  }
  return value;
}
