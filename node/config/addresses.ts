// Addresses as text: wildcards, loopback, brackets, and the port that a listening socket really got.
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

/** Whether `host[:port][/path]` is a name or an address that leads to the machine of whoever uses it (RFC 6761, section 6.3). */
export function isLoopbackHost(text: string): boolean {
  const name = URL.parse(`http://${text}`)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? '';
  return isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost');
}

/** Whether listening on it means all addresses of the machine. */
export function isUnspecifiedAddress(ip: string): boolean {
  return inList(wildcards, ip);
}

/** `host:port`, IPv6 in brackets (RFC 3986, section 3.2.2). */
export function hostAndPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address of the configuration with the port that was really bound, where port 0 was asked for. */
export function withActualPort(address: string, port: number): string {
  return address.endsWith(':0') ? `${address.slice(0, -1)}${port}` : address;
}
