// PROXY protocol, versions 1 and 2: the header in which a proxy sends the address of its client before the data of the connection.
import { isIP } from 'node:net';

/** `address`: of the client; undefined for connections of the proxy itself, such as health checks. */
export type ProxyHeader = { length: number; address: string | undefined };

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedLength = 16;
/** Version 1 has at most 107 bytes; version 2 may add values of the proxy to the addresses. */
const maxLength = 2048;
const maxLengthV1 = 107;
const proxied = 0x21;
const local = 0x20;
const tcp4 = 0x11;
const tcp6 = 0x21;

/** @param data everything received so far @returns the header, or why there is none yet */
export function readProxyHeader(data: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const begins = data.subarray(0, signature.length);
  if (begins.equals(signature)) return readV2(data);
  if (signature.subarray(0, begins.length).equals(begins)) return 'incomplete';
  return readV1(data);
}

function readV2(data: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  if (data.length < fixedLength) return 'incomplete';
  const command = data.readUInt8(12);
  const length = fixedLength + data.readUInt16BE(14);
  if (length > maxLength || (command !== proxied && command !== local)) return 'invalid';
  if (data.length < length) return 'incomplete';
  if (command === local) return { length, address: undefined };
  const addresses = data.subarray(fixedLength, length);
  const family = data.readUInt8(13);
  if (family === tcp4 && addresses.length >= 12) return { length, address: addresses.subarray(0, 4).join('.') };
  if (family === tcp6 && addresses.length >= 36) return { length, address: ipv6(addresses) };
  return 'invalid';
}

/** Dual-stack proxies send IPv4 addresses in their IPv6 form. */
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex');

function ipv6(bytes: Buffer): string {
  if (bytes.subarray(0, 12).equals(mappedPrefix)) return bytes.subarray(12, 16).join('.');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(':');
}

/** For example `PROXY TCP4 203.0.113.7 10.0.0.1 50000 443`, or `PROXY UNKNOWN` with anything after it. */
function readV1(data: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const line = data.subarray(0, maxLengthV1).toString('latin1');
  const end = line.indexOf('\r\n');
  const start = 'PROXY ';
  if (!line.startsWith(start.slice(0, line.length))) return 'invalid';
  if (end < 0) return line.length < maxLengthV1 ? 'incomplete' : 'invalid';
  const [, family, address = '', ...rest] = line.slice(0, end).split(' ');
  const length = end + 2;
  if (family === 'UNKNOWN') return { length, address: undefined };
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : undefined;
  return version === undefined || isIP(address) !== version || rest.length !== 3 ? 'invalid' : { length, address };
}
