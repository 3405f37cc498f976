// Access tokens of workers of agents, of the participants of their jobs, and those that request agents.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { AccessTokens } from '../../../../node/rooms/tokens/access-tokens.ts';
import { accessKey, signAccessToken } from '../../../kit/access-tokens.ts';
import { workerToken } from '../../../kit/livekit/agent-worker.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const tokens = new AccessTokens({
  keys: () => [
    { ...accessKey, roomPrefix: 'tests-' },
    { id: 'public', publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() },
  ],
  maxTtl: () => 1_800_000,
});

test('the grant agent makes a token one of a worker, within the prefix of its key', async () => {
  assert.deepEqual(await tokens.verifyWorker(await workerToken()), { id: 'backend', roomPrefix: 'tests-' });
  await assert.rejects(async () => tokens.verifyWorker(await workerToken({})), /has no grant agent/);
  await assert.rejects(async () => tokens.verifyWorker(await workerToken({ agent: false })), /has no grant agent/);
  const unsigned = signAccessToken({ keyId: 'public', alg: 'EdDSA', key: privateKey, video: { agent: true } });
  await assert.rejects(async () => tokens.verifyWorker(await unsigned), /has no secret/);
});

test('the node signs tokens with a key that has a secret, at most for the longest validity', async () => {
  const claims = { sub: 'agent', kind: 'agent', video: { room: 'tests-room', roomJoin: true } };
  const { identity, agent, expiresAt, issuedAt } = await tokens.verify(await tokens.sign('backend', claims, 3_600));
  assert.deepEqual([identity, agent, expiresAt - issuedAt], ['agent', true, 1_800_000]);
  await assert.rejects(tokens.sign('public', claims, 60), /has no secret/);
  await assert.rejects(tokens.sign('unknown', claims, 60), /does not exist/);
});

test('a token requests agents for its room', async () => {
  const verify = async (agents: unknown) =>
    tokens.verify(await signAccessToken({ room: 'tests-room', claims: { roomConfig: { agents } } }));
  const { agent, agents } = await verify([{ agentName: 'notes', metadata: 'm', attributes: { a: 'b' } }, { agentName: 'other' }]);
  assert.equal(agent, false);
  assert.deepEqual(agents, [
    { agentName: 'notes', metadata: 'm', attributes: { a: 'b' }, restart: true },
    { agentName: 'other', metadata: '', attributes: {}, restart: true },
  ]);
  assert.deepEqual((await verify(null)).agents, []);
  await assert.rejects(verify(Array(16).fill({ agentName: 'many' })), /agents/);
});
