// Certificates of a test: a CA and certificates signed by it, created with `openssl`.
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeAuthority, makeCertificate } from '../../network/certificates.ts';

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
  const ca = await makeAuthority(folder);
  const own = await makeCertificate(
    folder,
    'own',
    hosts.map((host) => `DNS:${host}`),
    ca,
  );
  const authority = readFileSync(ca.certificate);
  const certificate = join(folder, 'tls.crt');
  writeFileSync(certificate, Buffer.concat([readFileSync(own.certificate), authority]));
  const spki = new X509Certificate(authority).publicKey.export({ type: 'spki', format: 'der' });
  const pin = createHash('sha256').update(spki).digest('base64');
  const chromiumFlag = `--ignore-certificate-errors-spki-list=${pin}`;
  return { authority: ca.certificate, certificate, key: own.key, chromiumFlag };
}
