// Webhook verifier: accepts webhooks signed by another library, and rejects modified, old and oversized ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { MediaroomsError } from '../../../packages/server-sdk/src/errors.ts';
import { WebhookVerifier } from '../../../packages/server-sdk/src/webhook-verifier.ts';

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const body = JSON.stringify({ id: 'e1', type: 'RoomCreated', roomId: 'r', metadata: 'Grüße \u{1F600}' });

/** Headers as sent by a node; several secrets give several signatures. */
function signed(secrets: readonly string[], text: string | Buffer = body, at = Date.now()): Record<string, string> {
  const date = new Date(at);
  const signatures = secrets.map((secret) => new Webhook(secret).sign('e1', date, text.toString()));
  return { 'webhook-id': 'e1', 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': signatures.join(' ') };
}

const isInvalid = (error: unknown) => error instanceof MediaroomsError && error.code === 'invalid_webhook' && error.status === undefined;

test('text and bytes, headers of all runtimes, and any of several secrets on either side are accepted', async () => {
  const verifier = new WebhookVerifier({ secrets: `${secretOf(1)} ${secretOf(2)}` });
  for (const secrets of [[secretOf(1)], [secretOf(2)], [secretOf(3), secretOf(2)]]) {
    const headers = signed(secrets);
    const { id, event, sentAt } = await verifier.verify(body, headers);
    assert.deepEqual([id, event], ['e1', JSON.parse(body)]);
    assert.equal(sentAt.getTime(), 1000 * Number(headers['webhook-timestamp']));
    assert.deepEqual((await verifier.verify(Buffer.from(body), new Headers(headers))).event, event);
    assert.deepEqual((await verifier.verifyRequest(new Request('http://h/', { method: 'POST', body, headers }))).event, event);
  }
  await assert.rejects(verifier.verify(body, signed([secretOf(3)])), isInvalid);
});

test('modified, old, future, oversized and non-event webhooks are rejected', async () => {
  const verifier = new WebhookVerifier({ secrets: secretOf(1), tolerance: 60_000 });
  const headers = signed([secretOf(1)]);
  const signature = headers['webhook-signature'] ?? '';
  await assert.rejects(verifier.verify(`${body} `, headers), isInvalid);
  for (const name of Object.keys(headers)) await assert.rejects(verifier.verify(body, { ...headers, [name]: undefined }), isInvalid, name);
  for (const wrong of [
    '',
    'v1,',
    'v1,!',
    signature.slice(3),
    `v2${signature.slice(2)}`,
    signature.replace(/^v1,(.)/, (_, first) => `v1,${first === 'A' ? 'B' : 'A'}`),
    `${'v1,AAAA '.repeat(30)}${signature}`,
  ])
    await assert.rejects(verifier.verify(body, { ...headers, 'webhook-signature': wrong }), isInvalid, wrong);
  for (const time of ['x', '-1', '1e9', '9'.repeat(20)])
    await assert.rejects(verifier.verify(body, { ...headers, 'webhook-timestamp': time }), isInvalid, time);
  await assert.rejects(verifier.verify(body, signed([secretOf(1)], body, Date.now() - 120_000)), isInvalid);
  await assert.rejects(verifier.verify(body, signed([secretOf(1)], body, Date.now() + 120_000)), isInvalid);
  for (const text of ['no JSON', '[]', 'null', '{"roomId":"r"}'])
    await assert.rejects(verifier.verify(text, signed([secretOf(1)], text)), isInvalid, text);
  const large = JSON.stringify({ type: 'RoomCreated', filler: 'x'.repeat(1024 * 1024) });
  await assert.rejects(verifier.verify(large, signed([secretOf(1)], large)), isInvalid);
  await assert.rejects(
    verifier.verifyRequest(new Request('http://h/', { method: 'POST', body: large, headers: signed([secretOf(1)], large) })),
    isInvalid,
  );
});

test('an invalid secret throws at construction', () => {
  for (const secrets of ['', 'x', 'whsec_', 'whsec_AAAA', 'whsec_!', [], [secretOf(1), 'x']])
    assert.throws(() => new WebhookVerifier({ secrets }), TypeError);
});
