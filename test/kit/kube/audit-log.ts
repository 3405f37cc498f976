// What ServiceAccounts asked the API server for, from its own audit log.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './scope.ts';

export type AuditedCall = {
  verb: string;
  user: string;
  /** e.g. `rooms/status`; empty for what is no resource, such as discovery. */
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

/** An event as soon as it is answered; a watch when it begins. */
const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts:default'] }, { level: 'None' }],
};

export class AuditLog {
  readonly #log: string;
  readonly #policy: string;

  /** Give `flags` to the API server. */
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

  /** Of a ServiceAccount of the namespace `default`, in order. */
  callsOf(account: string): AuditedCall[] {
    const user = `system:serviceaccount:default:${account}`;
    return linesOf(this.#log)
      .map(readCall)
      .filter((call) => call.user === user);
  }
}

/** Whole lines of an audit log from a character on; the last may be half there while it is written. */
export function linesOf(log: string, from = 0): string[] {
  const text = existsSync(log) ? readFileSync(log, 'utf8').slice(from) : '';
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean);
}

/** How long it is by now, in characters of whole lines. */
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
