// Certificates of a test: a CA and certificates signed by it, created with `openssl`.
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './command.ts';

export type Certificates = {
  /** PEM file of the CA. */
  authority: string;
  /** PEM files for the host names; the chain contains the CA certificate. */
  certificate: string;
  key: string;
  /** Makes Chromium trust the CA. */
  chromiumFlag: string;
};

/** @param folder for the files */
export async function makeCertificates(folder: string, hosts: readonly string[]): Promise<Certificates> {
  const path = (name: string) => join(folder, name);
  const [authority, authorityKey, key, own, certificate] = ['ca.crt', 'ca.key', 'tls.key', 'own.crt', 'tls.crt'].map(path) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = hosts.map((host) => `DNS:${host}`).join(',');
  const uses = ['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', `subjectAltName=${names}`];
  await runCommand(['openssl', ...made, '-subj', '/CN=Authority of a test', '-keyout', authorityKey, '-out', authority]);
  await runCommand([
    ...['openssl', ...made, '-subj', `/CN=${hosts[0]}`, '-keyout', key, '-out', own],
    ...['-CA', authority, '-CAkey', authorityKey, ...uses],
  ]);
  await runCommand(['sh', '-c', 'cat "$1" "$2" >"$3"', 'sh', own, authority, certificate]);
  const spki = new X509Certificate(readFileSync(authority)).publicKey.export({ type: 'spki', format: 'der' });
  const pin = createHash('sha256').update(spki).digest('base64');
  return { authority, certificate, key, chromiumFlag: `--ignore-certificate-errors-spki-list=${pin}` };
}
