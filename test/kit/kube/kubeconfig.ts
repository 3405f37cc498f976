// Kubeconfig files: user and API server.
import { readFileSync, writeFileSync } from 'node:fs';

export type KubeconfigOptions = {
  /** `https://127.0.0.1:<port>` */
  server: string;
  /** PEM file of its CA. */
  authority: string;
  token: string;
  namespace?: string;
};

/** Writes the file as JSON, which is valid YAML. */
export function writeKubeconfig(path: string, { server, authority, token, namespace = 'default' }: KubeconfigOptions): void {
  const name = 'test';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': readFileSync(authority).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    'current-context': name,
  };
  writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
}
