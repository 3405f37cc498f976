// Which secrets the nodes of a test have, and a log that is searched for them as it is written.
import { appendFileSync } from 'node:fs';
import { pino } from 'pino';
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
/** Shorter ones are words, such as `development`, and stand in output by right. */
const minLength = 16;
const noted = new Set<string>();
/** Of the nodes that run in this process. */
const running = new Set<SecretLeakScanner>();

/** The secrets in an environment. */
export function secretsOf(env: Environment): Secret[] {
  const plain = Object.entries(kinds).flatMap(([name, kind]) => (env[name] ?? '').split(' ').map((value) => ({ kind, value })));
  const urls = (env.SVC_WEBHOOK_URLS ?? '').split(' ').flatMap((text) => secretsOfUrl(text));
  const turn = [...(env.SVC_ICE_SERVERS ?? '').matchAll(/"credential":\s*"([^"]+)"/g)];
  const credentials = turn.map(([, value = '']) => ({ kind: 'a TURN credential', value }));
  return [...plain, ...urls, ...credentials].filter(({ value }) => value.length >= minLength);
}

function secretsOfUrl(text: string): Secret[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const user = [username, password].map((value) => ({ kind: 'the user of a webhook URL', value }));
  return [...user, ...[...searchParams.values()].map((value) => ({ kind: 'the query of a webhook URL', value }))];
}

/** Has the output of the whole run of tests searched for a secret at its end (tools/test-runner/test.mjs). */
export function noteSecrets(secrets: readonly Secret[]): void {
  const file = process.env[secretsVariable];
  if (!file) return;
  const lines = secrets.map((secret) => `${JSON.stringify(secret)}\n`).filter((line) => !noted.has(line));
  for (const line of lines) noted.add(line);
  if (lines.length > 0) appendFileSync(file, lines.join(''));
}

/** For a node's secrets; they are noted, too. */
export function startSearch(env: Environment): SecretLeakScanner {
  const secrets = secretsOf(env);
  noteSecrets(secrets);
  const search = new SecretLeakScanner(secrets);
  running.add(search);
  return search;
}

/** A line that a node of this process logged to a log of the test's own. */
export function searchLine(line: string): void {
  for (const search of running) search.look(line);
}

/** The end of a search. Throws a sentence for every kind of secret that was found; it shows none of them. */
export function assertNothingFound(search: SecretLeakScanner): void {
  running.delete(search);
  const found = search.found();
  if (found.length > 0) throw new Error(`The output of a node holds secrets: ${found.join('; ')}`);
}

/** A log at the level of debug that keeps nothing: its lines are only searched. */
export function searchedLog(search: SecretLeakScanner): Log {
  return pino({ level: 'debug', base: null, mixin: requestIdMixin, timestamp: false }, { write: (line) => search.look(line) });
}
