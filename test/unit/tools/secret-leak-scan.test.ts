// Secret leak scanner: finds secrets in the output of tests and nodes.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readSecrets, SecretLeakScanner } from '../../../tools/test-runner/secret-leak-scan.mjs';
import { recordedLog } from '../../kit/recorded-log.ts';
import { assertNothingFound, searchedLog, secretsOf, startSearch } from '../../kit/secret-search.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

const token = `token-${randomBytes(12).toString('hex')}`;
const webhooks = `whsec_${randomBytes(24).toString('base64')}`;
const secrets = [
  { kind: 'an API token', value: token },
  { kind: 'the secret of webhooks', value: webhooks },
];

function found(text: string): string[] {
  const search = new SecretLeakScanner(secrets);
  search.scan(text);
  return search.found();
}

describe('the scanner finds a secret', () => {
  const basic = (user: string) => Buffer.from(`${user}:${token}`).toString('base64');
  for (const [how, text] of [
    ['plain', `x${token}y`],
    ['in JSON', JSON.stringify({ a: [{ token }] })],
    ['in a URL', `http://host/?token=${encodeURIComponent(token)}`],
    ['in hex', Buffer.from(token).toString('hex')],
    ['after a user in base64', basic('a')],
    ['after another user in base64', basic('ab')],
    ['after a third user in base64', basic('abc')],
    ['as base64url', Buffer.from(`xy${token}z`).toString('base64url')],
    ['as the key of webhooks without its prefix', webhooks.slice(6)],
    ['as the bytes of the key of webhooks', Buffer.from(webhooks.slice(6), 'base64').toString('hex')],
  ] as const) {
    test(how, () => assert.equal(found(text).length, 1, text));
  }
});

test('text that looks like a peer token or a webhook secret is reported', () => {
  const jwt = `eyJ${'a'.repeat(30)}.${'b'.repeat(40)}.${'c'.repeat(43)}`;
  assert.match(found(`say ${jwt} now`).join(), /^the token of a peer was printed: say \[here\] now$/);
  assert.equal(found(`whsec_${randomBytes(32).toString('base64')}`).length, 1);
  assert.deepEqual(found('Expected SVC_WEBHOOK_SECRET to be whsec_ followed by the base64 of 24 to 64 bytes; eyJhbGciOi is no token'), []);
});

test('the message contains the kind and the context, but none of the secrets', () => {
  const [message = ''] = found(`first\nboth ${webhooks} and ${token} here\nlast`);
  assert.match(message, /^an API token was printed: both whsec_\[secret\] and \[here\] here$/);
  assert.ok(!message.includes(token) && !message.includes(webhooks.slice(6)));
});

test('the environment of a node contains its secrets; plain words do not count', () => {
  const [user, query, credential] = ['user', 'query', 'credential'].map((name) => `${name}-of-something-long`);
  const kinds = secretsOf({
    SVC_SERVER_API_TOKEN: `development ${token}`,
    SVC_WEBHOOK_SECRET: webhooks,
    SVC_WEBHOOK_URLS: `http://${user}@host/?key=${query} no-url`,
    SVC_ICE_SERVERS: JSON.stringify([{ urls: 'turn:host', username: 'u', credential }]),
    SVC_HOST: 'a-host-with-a-long-name',
  });
  assert.deepEqual(kinds, [
    ...secrets,
    { kind: 'the user of a webhook URL', value: user },
    { kind: 'the query of a webhook URL', value: query },
    { kind: 'a TURN credential', value: credential },
  ]);
});

test('a log is scanned while it is written, including child loggers and levels below info', () => {
  const search = new SecretLeakScanner(secrets);
  const log = searchedLog(search);
  log.child({ room: 'r' }).debug({ port: 1 }, 'nothing to find');
  assertNothingFound(search);
  log.child({ token }).debug('something to find');
  assert.throws(() => assertNothingFound(search), /^Error: The output of a node contains secrets: an API token was printed: /);
});

test('logs of nodes in the test process that a test records are scanned, too', () => {
  const search = startSearch({ SVC_SERVER_API_TOKEN: token });
  const { log } = recordedLog();
  log.info({ nested: { token } }, 'a line');
  assert.throws(() => assertNothingFound(search), /an API token was printed/);
});

test('recorded secrets are read once each; without a file there are none', (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'secrets');
  assert.deepEqual(readSecrets(file), []);
  writeFileSync(file, [...secrets, ...secrets].map((secret) => `${JSON.stringify(secret)}\n`).join(''));
  assert.deepEqual(readSecrets(file), secrets);
});
