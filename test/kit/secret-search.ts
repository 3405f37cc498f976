// Secrets of test nodes, and a log that is scanned for them while it is written.
import { appendFileSync } from 'node:fs';
import { pino, stdTimeFunctions } from 'pino';
import { accessKeysOf } from '../../api/settings/access-keys.ts';
import { type Log, requestIdMixin } from '../../node/common/log.ts';
import type { Environment } from '../../node/env.ts';
import { type Secret, SecretLeakScanner, secretsVariable } from '../../tools/test-runner/secret-leak-scan.mjs';

const kinds: Record<string, string> = {
  SVC_SERVER_API_TOKEN: 'an API token',
  SVC_SERVER_API_READ_TOKEN: 'an API token that may read',
  SVC_SECRET_KEY_BASE: 'a secret key',
  SVC_DIST_COOKIE: 'the cookie',
  SVC_S3_ACCESS_KEY_ID: 'the id of an S3 key',
  SVC_S3_SECRET_ACCESS_KEY: 'an S3 key',
  SVC_WEBHOOK_SECRET: 'the secret of webhooks',
};
/** Shorter values are words such as `development`, which may appear in output. */
const minLength = 16;
const noted = new Set<string>();
/** Scanners of the nodes that run in this process. */
const running = new Set<SecretLeakScanner>();

/** The secrets in an environment. */
export function secretsOf(env: Environment): Secret[] {
  const plain = Object.entries(kinds).flatMap(([name, kind]) => (env[name] ?? '').split(' ').map((value) => ({ kind, value })));
  const access = accessKeysOf(env.SVC_ACCESS_KEYS ?? '').map(({ secret }) => ({ kind: 'an access key', value: secret }));
  const urls = [env.SVC_WEBHOOK_URLS, env.SVC_WEBHOOK_LIVEKIT_URLS]
    .flatMap((texts) => (texts ?? '').split(' '))
    .flatMap((text) => secretsOfUrl(text));
  const turn = [...(env.SVC_ICE_SERVERS ?? '').matchAll(/"credential":\s*"([^"]+)"/g)];
  const credentials = turn.map(([, value = '']) => ({ kind: 'a TURN credential', value }));
  return [...plain, ...access, ...urls, ...credentials].filter(({ value }) => value.length >= minLength);
}

function secretsOfUrl(text: string): Secret[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const user = [username, password].map((value) => ({ kind: 'the user of a webhook URL', value }));
  return [...user, ...[...searchParams.values()].map((value) => ({ kind: 'the query of a webhook URL', value }))];
}

/** Records secrets, so that the test runner scans the output of the whole file for them at its end (tools/test-runner/test-file.mjs). */
export function noteSecrets(secrets: readonly Secret[]): void {
  const file = process.env[secretsVariable];
  if (!file) return;
  const lines = secrets.map((secret) => `${JSON.stringify(secret)}\n`).filter((line) => !noted.has(line));
  for (const line of lines) noted.add(line);
  if (lines.length > 0) appendFileSync(file, lines.join(''));
}

/** Starts a scan for the secrets of a node, and records them. */
export function startSearch(env: Environment): SecretLeakScanner {
  const secrets = secretsOf(env);
  noteSecrets(secrets);
  const search = new SecretLeakScanner(secrets);
  running.add(search);
  return search;
}

/** Scans a line that a node of this process wrote to a log of the test. */
export function searchLine(line: string): void {
  for (const search of running) search.scan(line);
}

/** Ends a scan. Throws a message for every kind of secret that was found; it contains no secret. */
export function assertNothingFound(search: SecretLeakScanner): void {
  running.delete(search);
  const found = search.found();
  if (found.length > 0) throw new Error(`The output of a node contains secrets: ${found.join('; ')}`);
}

/** A log at level debug whose lines are scanned before they are passed on. */
export function searchedLog(search: SecretLeakScanner, listener: (line: string) => void = () => {}): Log {
  const write = (line: string) => {
    search.scan(line);
    listener(line);
  };
  return pino({ level: 'debug', base: null, mixin: requestIdMixin, timestamp: stdTimeFunctions.isoTime }, { write });
}
