// Registrar address: parses the option, and validates numbers and hosts to dial.
import { isIP } from 'node:net';
import { z } from 'zod';

const sipTransports = ['UDP', 'TCP', 'TLS'] as const;
export type SipTransport = (typeof sipTransports)[number];

export const registrarSchema = z.strictObject({
  /** A host name or an IP address without brackets. */
  host: z.string().max(253),
  port: z.int().min(1).max(65_535).optional(),
  /** Undefined: resolved by DNS (RFC 3263, section 4.1). */
  transport: z.enum(sipTransports).optional(),
});
export type Registrar = z.infer<typeof registrarSchema>;

const hostName = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$/;

/** `[sip:|sips:]host[:port][;transport=udp|tcp|tls]`, IPv6 in brackets. sips is TLS. @returns undefined if invalid */
export function parseRegistrar(text: string): Registrar | undefined {
  const match = /^(?:(sips?):)?(\[[0-9A-Fa-f:.]+\]|[^\s[\]:;/?#@]+)(?::(\d{1,5}))?(?:;transport=(udp|tcp|tls))?$/i.exec(text);
  if (!match) return undefined;
  const [, scheme, hostText = '', portText, transportText] = match;
  const host = hostText.startsWith('[') ? hostText.slice(1, -1) : hostText;
  if (hostText.startsWith('[') ? isIP(host) !== 6 : isIP(host) === 0 && !hostName.test(host)) return undefined;
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const secure = scheme?.toLowerCase() === 'sips';
  const named = transportText?.toUpperCase() as SipTransport | undefined;
  if (secure && named === 'UDP') return undefined;
  const transport = secure ? 'TLS' : named;
  return { host, ...(port !== undefined && { port }), ...(transport && { transport }) };
}

/** Host as in URIs: IPv6 in brackets. */
export function hostInUri(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Default port of a transport (RFC 3261, section 19.1.2). */
export function defaultPort(transport: SipTransport): number {
  return transport === 'TLS' ? 5061 : 5060;
}
