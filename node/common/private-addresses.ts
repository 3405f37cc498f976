// Private addresses: everything that is not globally reachable (RFC 6890), and metadata services of clouds.
import { BlockList, isIP } from 'node:net';

const blocked = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure platform services, including metadata: a public address that only its virtual machines can reach.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  blocked.addSubnet(address, prefix, 'ipv4');

const globalIpv6 = new BlockList();
globalIpv6.addSubnet('2000::', 3, 'ipv6');
for (const [address, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const)
  blocked.addSubnet(address, prefix, 'ipv6');

/** IPv4 embedded in IPv6: mapped, NAT64 (RFC 6052) and 6to4 (RFC 3056) addresses reach the embedded IPv4 address. */
function embeddedIpv4(address: string): string | undefined {
  const words = expand(address);
  if (!words) return undefined;
  const dotted = (high = 0, low = 0) => [high >> 8, high & 255, low >> 8, low & 255].join('.');
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff) return dotted(words[6], words[7]);
  if (words[0] === 0x64 && words[1] === 0xff9b && words.slice(2, 6).every((word) => word === 0)) return dotted(words[6], words[7]);
  return words[0] === 0x2002 ? dotted(words[1], words[2]) : undefined;
}

function expand(address: string): number[] | undefined {
  const text = address.split('%', 1)[0] ?? '';
  // URL normalizes every IPv6 address to hexadecimal groups.
  const host = URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
  if (host === undefined) return undefined;
  const [head = '', tail] = host.split('::');
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16)));
  const before = parse(head);
  const after = tail === undefined ? [] : parse(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** True if an IP address is loopback, link-local, private or otherwise not public. Also true for texts that are not an address. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return blocked.check(address, 'ipv4');
  if (family !== 6) return true;
  const inner = embeddedIpv4(address);
  if (inner !== undefined) return blocked.check(inner, 'ipv4');
  const plain = address.split('%', 1)[0] ?? '';
  return !globalIpv6.check(plain, 'ipv6') || blocked.check(plain, 'ipv6');
}
