// Loopback addresses of one pod runner: 127.<block>.0.0/16, claimed by its DNS server.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { DnsServer } from '../../network/dns-server.ts';

/** Not the default port of DNS: pods are configured with the port, and it needs no privileges. */
const dnsPort = 10_053;
const blocks = { from: 16, count: 200 };

export type LoopbackBlock = { number: number; dns: DnsServer };

/** Claims a free block, so that concurrent runners use different blocks. */
export async function claimBlock(): Promise<LoopbackBlock> {
  const start = Math.floor(Math.random() * blocks.count);
  for (let tries = 0; tries < blocks.count; tries += 1) {
    const number = blocks.from + ((start + tries) % blocks.count);
    const dns = await listen(`127.${number}.0.10`).catch(() => undefined);
    if (dns) return { number, dns };
  }
  throw new Error('No free block of loopback addresses for pods');
}

async function listen(ip: string): Promise<DnsServer> {
  const tcp = createServer().listen(dnsPort, ip);
  await once(tcp, 'listening');
  const udp = createSocket('udp4');
  try {
    udp.bind(dnsPort, ip);
    await once(udp, 'listening');
    return new DnsServer(udp, tcp);
  } catch (error) {
    tcp.close();
    udp.close();
    throw error;
  }
}
