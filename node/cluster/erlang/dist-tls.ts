// TLS under the distribution, between nodes of ours: both sides show a certificate of the cluster's authority, which signs nothing else.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, createSecureContext, createServer, type SecureContextOptions } from 'node:tls';
import type { Log } from '../../common/log.ts';
import { handshakeTimeoutMs } from './handshake/handshake-socket.ts';

/** Paths of PEM files. `optional`: nodes without TLS are taken and dialled as well, while a cluster changes to it. */
export type DistTlsConfig = { caPath: string; certPath: string; keyPath: string; optional: boolean };

/** By polling, because a mounted Secret changes through a symbolic link; milliseconds. */
const watchInterval = 1000;
/** First byte of a TLS record with a ClientHello (RFC 8446, section 5.1). The distribution begins with a length below 2048. */
const clientHello = 0x16;

export class DistTls {
  readonly optional: boolean;
  readonly #config: DistTlsConfig;
  readonly #log: Log;
  readonly #paths: readonly string[];
  #material: SecureContextOptions;

  /** @throws Error where a file cannot be read, is not PEM, or the key is not that of the certificate. */
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

  /** The connection of one who dialled us, in TLS; where TLS is optional also as it is. @throws Error; the socket is destroyed then */
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
      socket.once('close', () => reject(new Error('the other side closed the connection')));
      server.emit('connection', socket);
    });
  }

  /** TLS over a connection to a node that was dialled. @throws Error; the socket is destroyed then */
  dial(socket: Socket): Promise<Socket> {
    return new Promise((resolve, reject) => {
      // Nodes are named by addresses that no certificate has: whoever has one of the cluster's authority is a node, and the proof of the cookie says which.
      const secure = connect({ ...this.#options(), socket, checkServerIdentity: () => undefined });
      const timer = setTimeout(() => secure.destroy(new Error('no answer to TLS in time')), handshakeTimeoutMs);
      const fail = (error: Error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      secure.on('error', fail);
      secure.once('close', () => fail(new Error('the other side closed the connection')));
      // A server of TLS 1.3 says only after this that it refuses our certificate: what is read next ends then.
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
      this.#log.info({ certPath: this.#config.certPath }, 'TLS certificate of the distribution taken over');
    } catch (error) {
      const line = { certPath: this.#config.certPath, reason: (error as Error).message };
      this.#log.warn(line, 'TLS files of the distribution cannot be used, the last good ones stay');
    }
  };

  #read(): SecureContextOptions {
    const { caPath, certPath, keyPath } = this.#config;
    const material = { ca: readFileSync(caPath), cert: readFileSync(certPath), key: readFileSync(keyPath) };
    createSecureContext(material);
    return material;
  }
}

/** The first byte that comes, which stays to be read. @throws Error where none comes in time */
function firstByte(socket: Socket): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the other side closed the connection'));
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
