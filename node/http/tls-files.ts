// The TLS key and certificate: read at the start, read again when the files change.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Log } from '../common/log.ts';

export type TlsFiles = { keyPath: string; certPath: string };
export type TlsPair = { key: Buffer; cert: Buffer };

/** How often the files are looked at, in milliseconds. By polling, because a mounted Secret changes through a symbolic link. */
const watchInterval = 1000;

/** @throws Error where a file cannot be read, is not PEM, or the key is not that of the certificate. */
export function readTlsPair({ keyPath, certPath }: TlsFiles): TlsPair {
  const pair = { key: readFileSync(keyPath), cert: readFileSync(certPath) };
  createSecureContext(pair);
  return pair;
}

/** Calls `use` with each good new pair; a bad one is logged and the last good one stays. Returns what ends the watching. */
export function watchTlsPair(files: TlsFiles, log: Log, use: (pair: TlsPair) => void, interval: number = watchInterval): () => void {
  const reload = () => {
    try {
      use(readTlsPair(files));
      log.info({ certPath: files.certPath }, 'TLS certificate taken over');
    } catch (error) {
      // Key and certificate change one after the other: between the two they do not match, and the second change mends it.
      log.warn(
        { certPath: files.certPath, reason: (error as Error).message },
        'TLS key and certificate on disk cannot be used, the last good ones stay',
      );
    }
  };
  const paths = [files.keyPath, files.certPath];
  for (const path of paths) watchFile(path, { interval, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
