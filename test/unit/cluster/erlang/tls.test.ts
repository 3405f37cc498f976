// TLS of the distribution: certificates of the cluster CA, others, and none.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { atom, tuple } from '../../../../node/cluster/erlang/terms/terms.ts';
import { eventually } from '../../../kit/eventually.ts';
import { makeClusterCertificates } from '../../../kit/network/certificates.ts';
import { startDistNode } from '../../../kit/network/dist-nodes.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { socketClosed } from '../../../kit/network/listen.ts';
import { RawDistPeer } from '../../../kit/network/raw-dist-peer.ts';
import { assertPrompt, stopwatch } from '../../../kit/promised-time.ts';

async function tlsOf(t: TestContext, optional = false) {
  return { tls: { ...(await makeClusterCertificates(t)), optional } };
}

test('two nodes connect with TLS and prove the cookie for that connection', async (t) => {
  const [epmdPort, secure] = [await freePort(), await tlsOf(t)];
  const a = await startDistNode(t, 'a', epmdPort, secure);
  const b = await startDistNode(t, 'b', epmdPort, secure);
  b.node.register('svc', { call: async (request) => tuple(atom('ok'), request) });
  assert.ok(await a.node.connect(b.node.name));
  const { proof, tls } = await a.record.logged('connected to node');
  assert.deepEqual([proof, tls], ['bound', true]);
  const large = 'x'.repeat(1_000_000);
  assert.deepEqual(await a.node.call(b.node.name, 'svc', large, 30_000), tuple(atom('ok'), Buffer.from(large)));
  const down = once(b.node, 'nodeDown');
  await a.node.close();
  await down;
});

test('a node with a certificate of another CA is rejected in both directions', async (t) => {
  const epmdPort = await freePort();
  const a = await startDistNode(t, 'a', epmdPort, await tlsOf(t));
  const b = await startDistNode(t, 'b', epmdPort, await tlsOf(t));
  assert.deepEqual([await a.node.connect(b.node.name), await b.node.connect(a.node.name)], [false, false]);
});

test('a plain node is rejected if TLS is required and accepted if it is optional, in both directions', async (t) => {
  const [epmdPort, secure] = [await freePort(), await tlsOf(t)];
  const a = await startDistNode(t, 'a', epmdPort, secure);
  const plain = await startDistNode(t, 'plain', epmdPort);
  assert.deepEqual([await a.node.connect(plain.node.name), await plain.node.connect(a.node.name)], [false, false]);
  const optional = { tls: { ...secure.tls, optional: true } };
  const b = await startDistNode(t, 'b', epmdPort, optional);
  assert.ok(await b.node.connect(plain.node.name));
  assert.equal((await b.record.logged('connected to node')).tls, false);
  const c = await startDistNode(t, 'c', epmdPort, optional);
  await plain.node.connect(c.node.name);
  assert.ok(plain.node.isConnected(c.node.name));
  const d = await startDistNode(t, 'd', epmdPort, optional);
  assert.ok(await a.node.connect(d.node.name));
  assert.equal((await d.record.logged('connected to node')).tls, true);
});

test('a silent connection is closed after seven seconds, with required and optional TLS', async (t) => {
  const secure = await tlsOf(t);
  for (const optional of [false, true]) {
    const { node } = await startDistNode(t, 'a', await freePort(), { tls: { ...secure.tls, optional } });
    const elapsed = stopwatch();
    const { socket } = await RawDistPeer.dial(t, node.port);
    await socketClosed(socket);
    assertPrompt('closing a silent connection', elapsed(), { promised: 7_000 });
  }
});

test('a renewed certificate is loaded, an invalid file is not', async (t) => {
  const [epmdPort, first, second] = [await freePort(), await tlsOf(t), await tlsOf(t)];
  const a = await startDistNode(t, 'a', epmdPort, first);
  const b = await startDistNode(t, 'b', epmdPort, second);
  assert.equal(await a.node.connect(b.node.name), false);
  await copyFile(second.tls.caPath, first.tls.certPath);
  await a.record.logged('invalid TLS files of distribution, keeping previous files');
  for (const path of ['caPath', 'keyPath', 'certPath'] as const) await copyFile(second.tls[path], first.tls[path]);
  await a.record.logged('TLS certificate of distribution reloaded');
  await eventually('the nodes connect', () => a.node.connect(b.node.name));
});
