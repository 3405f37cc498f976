// Where a registrar is: addresses to be tried in order, by SRV and A/AAAA records (RFC 3263, section 4), within a deadline.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Timer } from '../../../common/timer.ts';
import { defaultPort, type Registrar, type SipTransport } from './registrar.ts';

export type SipTarget = { transport: SipTransport; ip: string; port: number };

export type SipDns = {
  srv(name: string): Promise<{ name: string; port: number; priority: number; weight: number }[]>;
  addresses(host: string): Promise<string[]>;
};

/** Milliseconds for all of it. */
const resolveTimeoutMs = 5000;
/** Of one question, which leaves time for addresses: names of a hosts file are found where no DNS server is. */
const srvTimeout = 1000;
const srvTries = 2;
/** More are not tried. */
const maxTargets = 16;
/** Tried in this order where the transport is not given: TLS only where it was asked for. */
const unnamed = [
  ['UDP', '_sip._udp.'],
  ['TCP', '_sip._tcp.'],
] as const satisfies readonly (readonly [SipTransport, string])[];
const services = { UDP: '_sip._udp.', TCP: '_sip._tcp.', TLS: '_sips._tcp.' } as const;

export function systemSipDns(): SipDns {
  const resolver = new Resolver({ timeout: srvTimeout, tries: srvTries });
  return {
    srv: (name) => resolver.resolveSrv(name),
    // As all programs of the machine see names: its hosts file and search domains count.
    addresses: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  };
}

/** @throws Error with a sentence where there is none */
export async function locateServers(registrar: Registrar, sipDns: SipDns = systemSipDns(), random = Math.random): Promise<SipTarget[]> {
  const late = Promise.withResolvers<never>();
  const timer = new Timer(resolveTimeoutMs, () => late.reject(new Error(`The name ${registrar.host} was not resolved in time`)));
  try {
    return await Promise.race([resolve(registrar, sipDns, random), late.promise]);
  } finally {
    timer.stop();
  }
}

async function resolve(registrar: Registrar, sipDns: SipDns, random: () => number): Promise<SipTarget[]> {
  const { host, port, transport = 'UDP' } = registrar;
  if (isIP(host) !== 0) return [{ transport, ip: host, port: port ?? defaultPort(transport) }];
  // A port that is given means that host itself (section 4.2).
  if (port === undefined) {
    const asked = registrar.transport ? [[registrar.transport, services[registrar.transport]] as const] : unnamed;
    const answers = await Promise.all(asked.map(async ([, service]) => sipDns.srv(`${service}${host}`).catch(() => [])));
    for (const [index, [each]] of asked.entries()) {
      const records = answers[index] ?? [];
      const targets = await Promise.all(
        inOrder(records, random)
          .slice(0, maxTargets)
          .map((record) => at(sipDns, record.name, record.port, each).catch(() => [])),
      );
      const found = targets.flat().slice(0, maxTargets);
      if (found.length > 0) return found;
    }
  }
  const found = await at(sipDns, host, port ?? defaultPort(transport), transport).catch(() => []);
  if (found.length === 0) throw new Error(`The name ${host} has no address`);
  return found.slice(0, maxTargets);
}

async function at(sipDns: SipDns, host: string, port: number, transport: SipTransport): Promise<SipTarget[]> {
  const addresses = isIP(host) === 0 ? await sipDns.addresses(host) : [host];
  return addresses.map((ip) => ({ transport, ip, port }));
}

/** By priority; among equal ones by lot, with their weights (RFC 2782). */
function inOrder<R extends { priority: number; weight: number }>(records: readonly R[], random: () => number): R[] {
  // `-log(random) / weight` is the time at which a source of that rate first fires: the earliest are the likeliest.
  const drawn = records.map((record) => ({ record, time: -Math.log(1 - random()) / (record.weight || 0.01) }));
  return drawn.sort((a, b) => a.record.priority - b.record.priority || a.time - b.time).map(({ record }) => record);
}
