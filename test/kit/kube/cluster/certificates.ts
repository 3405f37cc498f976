// Certificates of a test's own: an authority and what it vouches for. `openssl` makes them.
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './command.ts';

export type Certificates = {
  /** PEM file of the authority. */
  authority: string;
  /** PEM files for the hosts; the authority's certificate is in the chain. */
  certificate: string;
  key: string;
  /** Makes Chromium trust what the authority vouches for. */
  chromiumFlag: string;
};

/** @param folder where they are written to */
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
