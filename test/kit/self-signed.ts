// Self-signed certificates, created with `openssl`.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** @returns the paths of key and certificate; `altName` as in `IP:127.0.0.1` */
export function selfSigned(folder: string, name: string, altName?: string): { keyPath: string; certPath: string } {
  const files = { keyPath: join(folder, `${name}.key`), certPath: join(folder, `${name}.crt`) };
  const made = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
  ];
  const alternative = altName === undefined ? [] : ['-addext', `subjectAltName=${altName}`];
  execFileSync('openssl', [...made, ...alternative, '-keyout', files.keyPath, '-out', files.certPath], { stdio: 'pipe' });
  return files;
}
