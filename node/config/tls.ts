// TLS settings: key and certificate files that must be set together and readable.
import { resolve as resolvePath } from 'node:path';
import type { StaticName } from '../../api/settings/static.ts';
import { type ConfigReader, configErrorMessage } from './reader.ts';
import type { ConfigSystem } from './system.ts';

/** Absolute paths of PEM files. */
export type TlsFiles = { keyPath: string; certPath: string };

type KeyName = 'SSL_KEY_PATH' | 'WEBRTC_TURN_TLS_KEY_PATH' | 'DIST_TLS_KEY';
type CertName = 'SSL_CERT_PATH' | 'WEBRTC_TURN_TLS_CERT_PATH' | 'DIST_TLS_CERT';

/** null if neither is set. */
export async function readTls(reader: ConfigReader, system: ConfigSystem, key: KeyName, cert: CertName): Promise<TlsFiles | null> {
  const keyPath = reader.read(key);
  const certPath = reader.read(cert);
  if (keyPath === undefined && certPath === undefined) return null;
  if (keyPath === undefined || certPath === undefined) {
    const only = keyPath === undefined ? cert : key;
    reader.errors.push(`Expected SVC_${key} and SVC_${cert} to be set both or neither, got only: ${reader.nameOf(only)}`);
    return null;
  }
  await Promise.all([checkReadable(reader, system, key, keyPath), checkReadable(reader, system, cert, certPath)]);
  return { keyPath: resolvePath(keyPath), certPath: resolvePath(certPath) };
}

/** The absolute path of one file; undefined if it is not set. */
export async function readableFile(reader: ConfigReader, system: ConfigSystem, name: 'DIST_TLS_CA'): Promise<string | undefined> {
  const path = reader.read(name);
  if (path === undefined) return undefined;
  await checkReadable(reader, system, name, path);
  return resolvePath(path);
}

async function checkReadable(reader: ConfigReader, system: ConfigSystem, name: StaticName, path: string): Promise<void> {
  const code = await system.unreadable(path);
  if (code !== undefined) reader.errors.push(configErrorMessage(reader.nameOf(name), 'to be a readable file', `${path} (${code})`));
}
