// Cluster certificate authorities and node certificates, created with `openssl`.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '../temp-folder.ts';

export type ClusterCertificates = { caPath: string; certPath: string; keyPath: string };

const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

/** An authority and one certificate for all nodes of a cluster. Deleted with the test. */
export async function makeClusterCertificates(t: TestContext): Promise<ClusterCertificates> {
  const folder = tempFolder(t);
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args);
  const files = { caPath: at('ca.pem'), certPath: at('node.pem'), keyPath: at('node.key') };
  await openssl(...made, '-subj', '/CN=cluster', '-keyout', at('ca.key'), '-out', files.caPath);
  const signed = [
    '-CA',
    files.caPath,
    '-CAkey',
    at('ca.key'),
    ...['basicConstraints=critical,CA:FALSE', 'subjectAltName=IP:127.0.0.1,DNS:localhost'].flatMap((each) => ['-addext', each]),
  ];
  await openssl(...made, ...signed, '-subj', '/CN=node', '-keyout', files.keyPath, '-out', files.certPath);
  return files;
}
