// Scan of operator and pod output for secrets: finds every secret and reports nothing else.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PrintedSecrets } from '../../kit/kube/printed-secrets.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = {
  metadata: { name: 'media-api-tokens' },
  data: { admin: base64('s3cr3t-of-the-admin'), short: base64('word'), url: base64('wss://media.example/socket') },
};

it('finds a Secret value in every encoding, names the process that printed it, and does not show it', () => {
  for (const text of ['{"token":"s3cr3t-of-the-admin"}', `data: ${base64('s3cr3t-of-the-admin')}`]) {
    const printed = new PrintedSecrets();
    printed.printed('operator-1', `a line\n${text}\n`);
    printed.stored(secret);
    assert.throws(
      () => printed.check(),
      ({ message }: Error) =>
        /operator-1: the value "admin" of the Secret "media-api-tokens" was printed/.test(message) && !message.includes('s3cr3t'),
    );
  }
});

it('finds peer tokens by their format', () => {
  const printed = new PrintedSecrets();
  printed.printed('pod default/media-0', `joined with eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(30)}.${'b'.repeat(43)}`);
  assert.throws(() => printed.check(), /^Error: The output contains secrets:\npod default\/media-0: the token of a peer/);
});

it('ignores words and addresses', () => {
  const printed = new PrintedSecrets();
  printed.stored(secret);
  printed.printed('operator-1', 'a word about wss://media.example/socket');
  printed.check();
});
