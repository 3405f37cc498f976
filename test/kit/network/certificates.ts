// Certificates of a test, created with `openssl`.
import { join } from 'node:path';
import type { Scope } from '../kube/scope.ts';
import { runCommand } from '../processes/command.ts';
import { tempFolder } from '../temp-folder.ts';

/** Paths of PEM files. */
export type CertificateFiles = { certificate: string; key: string };

const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

/** An authority, whose certificate is self-signed. @param name of its files in the folder */
export function makeAuthority(folder: string, name = 'ca'): Promise<CertificateFiles> {
  return make(folder, name, ['-subj', '/CN=Authority of a test']);
}

/** A certificate for names such as `DNS:localhost`, signed by the authority, or by itself. @param name of its files in the folder */
export function makeCertificate(folder: string, name: string, names: readonly string[], by?: CertificateFiles): Promise<CertificateFiles> {
  const subject = ['-subj', `/CN=${names[0]?.replace(/^\w+:/, '')}`, '-addext', `subjectAltName=${names.join()}`];
  const signed = by ? ['-CA', by.certificate, '-CAkey', by.key, '-addext', 'basicConstraints=critical,CA:FALSE'] : [];
  return make(folder, name, [...subject, ...signed]);
}

async function make(folder: string, name: string, options: readonly string[]): Promise<CertificateFiles> {
  const files = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  await runCommand(['openssl', ...made, ...options, '-keyout', files.key, '-out', files.certificate]);
  return files;
}

export type ClusterCertificates = { caPath: string; certPath: string; keyPath: string };

/** An authority and one certificate for all nodes of a cluster. Deleted with the test. */
export async function makeClusterCertificates(scope: Scope): Promise<ClusterCertificates> {
  const folder = tempFolder(scope);
  const authority = await makeAuthority(folder);
  const { certificate, key } = await makeCertificate(folder, 'node', ['IP:127.0.0.1', 'DNS:localhost'], authority);
  return { caPath: authority.certificate, certPath: certificate, keyPath: key };
}
