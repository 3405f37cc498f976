// Requests of ServiceAccounts, from the audit log of the API server.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../temp-folder.ts';
import type { Scope } from './scope.ts';

export type AuditedCall = {
  verb: string;
  user: string;
  /** For example `rooms/status`; empty for non-resource requests, such as discovery. */
  resource: string;
  group: string;
  path: string;
  code: number;
};

export type AuditEvent = {
  verb: string;
  user: { username: string };
  userAgent?: string;
  requestURI: string;
  requestObject?: { dryRun?: string[] };
  objectRef?: { resource: string; subresource?: string; apiGroup?: string };
  responseStatus?: { code: number };
};

const ofServiceAccounts = [{ level: 'Metadata', userGroups: ['system:serviceaccounts:default'] }, { level: 'None' }];

/** An event for each response; for a watch at its start. */
export class AuditLog {
  readonly #log: string;
  readonly #policy: string;

  /** Pass `flags` to the API server. */
  constructor(scope: Scope, rules: readonly object[] = ofServiceAccounts) {
    const folder = tempFolder(scope);
    this.#log = join(folder, 'audit.log');
    this.#policy = join(folder, 'policy.yaml');
    writeFileSync(this.#policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules }));
  }

  get flags(): string[] {
    return [`--audit-policy-file=${this.#policy}`, `--audit-log-path=${this.#log}`];
  }

  /** Requests of a ServiceAccount of the namespace `default`, in order. */
  callsOf(account: string): AuditedCall[] {
    const user = `system:serviceaccount:default:${account}`;
    return this.since(0)
      .map(readCall)
      .filter((call) => call.user === user);
  }

  /** Number of events so far. */
  get length(): number {
    return this.since(0).length;
  }

  /** Events after the first ones; the last line may be incomplete during a write. */
  since(length: number): AuditEvent[] {
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : '';
    const lines = text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean);
    return lines.slice(length).map((line): AuditEvent => JSON.parse(line));
  }
}

function readCall({ verb, user, requestURI, objectRef, responseStatus }: AuditEvent): AuditedCall {
  const { resource = '', subresource, apiGroup = '' } = objectRef ?? {};
  return {
    verb,
    user: user.username,
    resource: subresource ? `${resource}/${subresource}` : resource,
    group: apiGroup,
    path: requestURI,
    code: responseStatus?.code ?? 0,
  };
}
