// Real SIP registrar and proxy (Kamailio) over UDP, TCP and TLS with digest authentication; forwards calls to a port of SIPp.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import { Child } from '../kube/child.ts';
import { type CertificateFiles, makeCertificate } from '../network/certificates.ts';
import { freePorts } from '../network/free-ports.ts';
import { loopbackNetwork, type SipNetwork } from './sip-network.ts';

export const account = { username: 'room', password: 'a secret of the test' };

export type KamailioOptions = {
  /** Destination of calls to numbers. */
  farEndPort: number;
  algorithm?: 'MD5' | 'SHA-256';
  /** Maximum expiry of a registration in seconds. */
  maxExpires?: number;
  /** Network of Kamailio and of its remote party. */
  place?: SipNetwork;
};

export class Kamailio {
  readonly port: number;
  readonly tlsPort: number;
  /** PEM of its self-signed certificate for localhost. */
  readonly ca: string;
  readonly #folder: string;
  readonly #place: SipNetwork;
  #child: Child | undefined;

  private constructor(folder: string, place: SipNetwork, ports: { port: number; tlsPort: number }, ca: string) {
    this.#folder = folder;
    this.#place = place;
    this.port = ports.port;
    this.tlsPort = ports.tlsPort;
    this.ca = ca;
  }

  static async start(t: Pick<TestContext, 'after'>, options: KamailioOptions): Promise<Kamailio> {
    const folder = mkdtempSync(join(tmpdir(), 'mediarooms-kamailio-'));
    const [port = 0, tlsPort = 0] = await freePorts(2);
    const { certificate, key } = await makeCertificate(folder, 'kamailio', ['DNS:localhost']);
    writeFileSync(join(folder, 'kamailio.cfg'), configuration({ place: loopbackNetwork, ...options, port, tlsPort, key, certificate }));
    const kamailio = new Kamailio(folder, options.place ?? loopbackNetwork, { port, tlsPort }, readFileSync(certificate, 'utf8'));
    t.after(async () => {
      await kamailio.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    await kamailio.run();
    return kamailio;
  }

  /** Starts it, also after stop(), which drops all registrations. */
  async run(): Promise<void> {
    const flags = ['-DD', '-E', '-f', join(this.#folder, 'kamailio.cfg'), '-P', join(this.#folder, 'pid'), '-Y', this.#folder];
    const child = new Child(['/usr/sbin/kamailio', ...flags, '-m', '32', '-M', '8', '-w', this.#folder], {
      log: join(this.#folder, 'log'),
      wrap: this.#place.wrap,
    });
    this.#child = child;
    const check = async () => {
      if (child.end) throw new Error(`Kamailio did not start: ${child.tail()}`);
      return takes(this.#place.address, this.port);
    };
    await eventually(() => `Kamailio accepts connections: ${child.tail()}`, check);
  }

  async stop(): Promise<void> {
    await this.#child?.stop('SIGTERM');
  }

  get log(): string {
    return this.#child?.tail(200_000) ?? '';
  }
}

async function takes(address: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, address, () => resolve(true));
  socket.on('error', () => resolve(false));
  const taken = await promise;
  socket.destroy();
  return taken;
}

type Settings = KamailioOptions & CertificateFiles & { place: SipNetwork; port: number; tlsPort: number };

/** The configuration file with values for `@name@`. */
function configuration({ place, algorithm = 'MD5', maxExpires = 3600, ...settings }: Settings): string {
  const values: Record<string, string | number> = { ...settings, ...account, algorithm, maxExpires, address: place.address };
  return readFileSync(join(import.meta.dirname, 'kamailio.cfg'), 'utf8').replaceAll(/@(\w+)@/g, (_, name: string) => String(values[name]));
}
