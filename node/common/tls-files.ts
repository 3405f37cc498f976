// TLS files: reads key and certificate, and reloads them when the files change.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Log } from './log.ts';

export type TlsFiles = { keyPath: string; certPath: string };
export type TlsPair = { key: Buffer; cert: Buffer };

/** Interval of checks in milliseconds. Polling is needed because a mounted Secret changes through a symbolic link. */
const watchInterval = 1000;

/** @throws Error if a file cannot be read, is not PEM, or the key does not match the certificate. */
export function readTlsPair({ keyPath, certPath }: TlsFiles): TlsPair {
  const pair = { key: readFileSync(keyPath), cert: readFileSync(certPath) };
  createSecureContext(pair);
  return pair;
}

/** Calls `use` with each valid new pair. An invalid one is logged and the previous one stays. Returns a function that stops the watch. */
export function watchTlsPair(files: TlsFiles, log: Log, use: (pair: TlsPair) => void, interval: number = watchInterval): () => void {
  const reload = () => {
    try {
      use(readTlsPair(files));
      log.info({ certPath: files.certPath }, 'TLS certificate reloaded');
    } catch (error) {
      // Key and certificate change one after the other. Between the two they do not match, and the second change fixes that.
      log.warn({ certPath: files.certPath, reason: (error as Error).message }, 'invalid TLS key and certificate, keeping previous pair');
    }
  };
  const paths = [files.keyPath, files.certPath];
  for (const path of paths) watchFile(path, { interval, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
