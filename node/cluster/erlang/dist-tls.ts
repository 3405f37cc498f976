// TLS for the distribution: both sides present a certificate of the cluster CA, which signs only certificates of nodes.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, createSecureContext, createServer, type SecureContextOptions } from 'node:tls';
import type { Log } from '../../common/log.ts';
import { handshakeTimeoutMs } from './handshake/handshake-socket.ts';

/** Paths of PEM files. `optional`: also accepts and dials nodes without TLS, for migration of a cluster. */
export type DistTlsConfig = { caPath: string; certPath: string; keyPath: string; optional: boolean };

/** Polling interval in milliseconds. Polling is needed because a mounted Secret changes through a symbolic link. */
const watchInterval = 1000;
/** First byte of a TLS record with a ClientHello (RFC 8446, section 5.1). The distribution begins with a length below 2048. */
const clientHello = 0x16;

export class DistTls {
  readonly optional: boolean;
  readonly #config: DistTlsConfig;
  readonly #log: Log;
  readonly #paths: readonly string[];
  #material: SecureContextOptions;

  /** @throws Error if a file cannot be read, is not PEM, or the key does not match the certificate. */
  constructor(config: DistTlsConfig, log: Log) {
    this.optional = config.optional;
    this.#config = config;
    this.#log = log;
    this.#material = this.#read();
    this.#paths = [config.caPath, config.certPath, config.keyPath];
    for (const path of this.#paths) watchFile(path, { interval: watchInterval, persistent: false }, this.#reload);
  }

  close(): void {
    for (const path of this.#paths) unwatchFile(path, this.#reload);
  }

  /**
   * Starts TLS on an accepted socket. If TLS is optional, plain sockets are returned unchanged. @throws Error; the socket is then destroyed
   */
  async accept(socket: Socket): Promise<Socket> {
    if (this.optional && (await firstByte(socket)) !== clientHello) return socket;
    return new Promise((resolve, reject) => {
      const server = createServer({
        ...this.#options(),
        requestCert: true,
        rejectUnauthorized: true,
        handshakeTimeout: handshakeTimeoutMs,
      });
      server.once('secureConnection', resolve);
      server.once('tlsClientError', (error) => {
        socket.destroy();
        reject(error);
      });
      socket.once('close', () => reject(new Error('the remote node closed the connection')));
      server.emit('connection', socket);
    });
  }

  /** Starts TLS on a dialed socket. @throws Error; the socket is then destroyed */
  dial(socket: Socket): Promise<Socket> {
    return new Promise((resolve, reject) => {
      // Node names are addresses that no certificate contains. A certificate of the cluster CA proves that the remote is a node, and the
      // cookie proof proves which one.
      const secure = connect({ ...this.#options(), socket, checkServerIdentity: () => undefined });
      const timer = setTimeout(() => secure.destroy(new Error('timeout of TLS handshake')), handshakeTimeoutMs);
      const fail = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      secure.on('error', fail);
      secure.once('close', () => fail(new Error('the remote node closed the connection')));
      // A TLS 1.3 server rejects our certificate only after this event, and the next read fails.
      secure.once('secureConnect', () => {
        clearTimeout(timer);
        resolve(secure);
      });
    });
  }

  #options(): SecureContextOptions {
    return { ...this.#material, minVersion: 'TLSv1.2' };
  }

  readonly #reload = (): void => {
    try {
      this.#material = this.#read();
      this.#log.info({ certPath: this.#config.certPath }, 'TLS certificate of distribution reloaded');
    } catch (error) {
      const line = { certPath: this.#config.certPath, reason: (error as Error).message };
      this.#log.warn(line, 'invalid TLS files of distribution, keeping previous files');
    }
  };

  #read(): SecureContextOptions {
    const { caPath, certPath, keyPath } = this.#config;
    const material = { ca: readFileSync(caPath), cert: readFileSync(certPath), key: readFileSync(keyPath) };
    createSecureContext(material);
    return material;
  }
}

/** Peeks at the first byte without consuming it. @throws Error if none arrives in time */
function firstByte(socket: Socket): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the remote node closed the connection'));
    });
    socket.once('readable', () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      clearTimeout(timer);
      socket.unshift(chunk);
      resolve(chunk[0]);
    });
  });
}
