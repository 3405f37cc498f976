// Node names: `<name>@<host>`, and the hosts that each mode allows (Erlang's rules of -sname and -name).
import { isIPv6 } from 'node:net';

export type NameMode = 'sname' | 'name';

const maxNodeName = 255;

/** Splits a node name; undefined if it is invalid. */
export function splitNodeName(nodeName: string): { name: string; host: string } | undefined {
  if (nodeName.length > maxNodeName) return undefined;
  const match = /^([^@\s\p{Cc}]+)@([^@\s\p{Cc}]+)$/u.exec(nodeName);
  return match?.[1] && match[2] ? { name: match[1], host: match[2] } : undefined;
}

/** True if nodes of this mode can connect to this host. */
export function fitsMode(mode: NameMode, host: string): boolean {
  const full = host.includes('.') || isIPv6(host);
  return mode === 'name' ? full : !full;
}
