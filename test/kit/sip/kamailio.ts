// Real SIP registrar and proxy (Kamailio) over UDP, TCP and TLS with digest authentication; forwards calls to a port of SIPp.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import { Child } from '../kube/child.ts';
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
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        key,
        '-out',
        cert,
        '-days',
        '2',
        ...subject,
      ],
      { stdio: 'pipe' },
    );
    writeFileSync(join(folder, 'kamailio.cfg'), configuration({ place: loopbackNetwork, ...options, port, tlsPort, key, cert }));
    const kamailio = new Kamailio(folder, options.place ?? loopbackNetwork, { port, tlsPort }, readFileSync(cert, 'utf8'));
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
    const look = async () => {
      if (child.end) throw new Error(`Kamailio did not start: ${child.tail()}`);
      return takes(this.#place.address, this.port);
    };
    await eventually(() => `Kamailio accepts connections: ${child.tail()}`, look);
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

function configuration(options: KamailioOptions & { place: SipNetwork; port: number; tlsPort: number; key: string; cert: string }): string {
  const { farEndPort, place, algorithm = 'MD5', maxExpires = 3600, port, tlsPort, key, cert } = options;
  const modules = ['tm', 'sl', 'rr', 'pv', 'maxfwd', 'usrloc', 'registrar', 'textops', 'siputils', 'auth', 'corex', 'tls'];
  return `#!KAMAILIO
debug=1
log_stderror=yes
children=1
tcp_children=1
auto_aliases=no
enable_tls=yes
server_header="Server: kamailio"
listen=udp:${place.address}:${port}
listen=tcp:${place.address}:${port}
listen=tls:${place.address}:${tlsPort}
alias=localhost
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/:/usr/lib/aarch64-linux-gnu/kamailio/modules/"
${modules.map((name) => `loadmodule "${name}.so"`).join('\n')}
modparam("tls", "private_key", "${key}")
modparam("tls", "certificate", "${cert}")
modparam("tls", "tls_method", "TLSv1.2+")
modparam("tls", "verify_certificate", 0)
modparam("tls", "require_certificate", 0)
modparam("auth", "nonce_expire", 300)
modparam("auth", "algorithm", "${algorithm}")
modparam("registrar", "max_expires", ${maxExpires})
modparam("registrar", "default_expires", ${maxExpires})
modparam("tm", "fr_timer", 20000)
modparam("tm", "fr_inv_timer", 30000)

request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (is_method("ACK")) { if (t_check_trans()) t_relay(); exit; }
    sl_send_reply("404", "Not here");
    exit;
  }
  t_check_trans();
  if (is_method("OPTIONS")) { sl_send_reply("200", "OK"); exit; }
  if (is_method("REGISTER")) {
    if (!pv_auth_check("$fd", "${account.password}", "0", "1")) { auth_challenge("$fd", "1"); exit; }
    if ($au != "${account.username}") { sl_send_reply("403", "Forbidden"); exit; }
    save("location");
    exit;
  }
  if (!is_method("INVITE")) { sl_send_reply("405", "Method Not Allowed"); exit; }
  record_route();
  if ($rU == "${account.username}") {
    if (!lookup("location")) { sl_send_reply("480", "Temporarily Unavailable"); exit; }
    t_relay();
    exit;
  }
  if ($fU == "${account.username}") {
    if (!pv_auth_check("$fd", "${account.password}", "0", "1")) { auth_challenge("$fd", "1"); exit; }
    consume_credentials();
  }
  if ($rU =~ "^[+]?[0-9]+$") {
    $du = "sip:${place.address}:${farEndPort}";
    t_relay();
    exit;
  }
  sl_send_reply("404", "Not Found");
}
`;
}
