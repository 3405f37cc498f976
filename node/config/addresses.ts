// Address helpers: wildcards, loopback, brackets, and the actual port of a listening socket.
import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
const wildcards = new BlockList();
wildcards.addAddress('0.0.0.0', 'ipv4');
wildcards.addAddress('::', 'ipv6');

const inList = (list: BlockList, ip: string): boolean => isIP(ip) !== 0 && list.check(ip, isIP(ip) === 4 ? 'ipv4' : 'ipv6');

export function isLoopbackAddress(ip: string): boolean {
  return inList(loopback, ip);
}

/** True if `host[:port][/path]` is a name or address that resolves to the local host (RFC 6761, section 6.3). */
export function isLoopbackHost(text: string): boolean {
  const name = URL.parse(`http://${text}`)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? '';
  return isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost');
}

/** True if listening on it means all addresses of the host. */
export function isUnspecifiedAddress(ip: string): boolean {
  return inList(wildcards, ip);
}

/** `host:port`, IPv6 in brackets (RFC 3986, section 3.2.2). */
export function hostAndPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A configured address with the actual port of the listener, if port 0 was configured. */
export function withActualPort(address: string, port: number): string {
  return address.endsWith(':0') ? `${address.slice(0, -1)}${port}` : address;
}

/** The path of `host[:port][/path]` without a trailing slash; '' if it has none. */
export function pathPrefixOfHost(host: string): string {
  const slash = host.indexOf('/');
  return slash < 0 ? '' : host.slice(slash).replace(/\/+$/, '');
}
