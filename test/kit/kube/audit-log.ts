// Requests of ServiceAccounts, from the audit log of the API server.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

type AuditEvent = {
  verb: string;
  user: { username: string };
  requestURI: string;
  objectRef?: { resource: string; subresource?: string; apiGroup?: string };
  responseStatus?: { code: number };
};

/** An event for each response; for a watch at its start. */
const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts:default'] }, { level: 'None' }],
};

export class AuditLog {
  readonly #log: string;
  readonly #policy: string;

  /** Pass `flags` to the API server. */
  constructor(scope: Scope) {
    const dir = mkdtempSync(join(tmpdir(), 'mediarooms-audit-'));
    this.#log = join(dir, 'audit.log');
    this.#policy = join(dir, 'policy.yaml');
    writeFileSync(this.#policy, JSON.stringify(policy));
    scope.after(async () => rmSync(dir, { recursive: true, force: true }));
  }

  get flags(): string[] {
    return [`--audit-policy-file=${this.#policy}`, `--audit-log-path=${this.#log}`];
  }

  /** Requests of a ServiceAccount of the namespace `default`, in order. */
  callsOf(account: string): AuditedCall[] {
    const user = `system:serviceaccount:default:${account}`;
    return linesOf(this.#log)
      .map(readCall)
      .filter((call) => call.user === user);
  }
}

/** Complete lines of an audit log from a character on; the last line may be incomplete during a write. */
export function linesOf(log: string, from = 0): string[] {
  const text = existsSync(log) ? readFileSync(log, 'utf8').slice(from) : '';
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean);
}

/** Current length in characters of complete lines. */
export function lengthOf(log: string): number {
  return readFileSync(log, 'utf8').lastIndexOf('\n') + 1;
}

function readCall(line: string): AuditedCall {
  const { verb, user, requestURI, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
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
