// Certificates of the operator on Mediarooms nodes: they connect during every step of a renewal, and to no other node.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { DistTlsConfig } from '../../node/cluster/erlang/dist-tls.ts';
import type { SecretData } from '../../operator/clusters/cluster-context.ts';
import { certificateStep } from '../../operator/clusters/secrets/certificates.ts';
import { connectedTo, startDistNode } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const day = 24 * 3_600_000;

/** The Secret that the operator creates a number of days from now, from the previous one. */
async function stepAt(days: number, before?: SecretData): Promise<SecretData> {
  return (await certificateStep(before, Date.now() + days * day))?.data ?? assert.fail('no Secret was due');
}

/** Files of the mounted Secret. */
async function mounted(t: TestContext, data: SecretData): Promise<DistTlsConfig> {
  const folder = tempFolder(t);
  const path = (key: string) => join(folder, key);
  for (const key of ['ca.crt', 'tls.crt', 'tls.key']) await writeFile(path(key), data[key] ?? assert.fail());
  return { caPath: path('ca.crt'), certPath: path('tls.crt'), keyPath: path('tls.key'), optional: false };
}

test('two nodes with the certificate of their cluster connect', async (t) => {
  const epmdPort = await freePort();
  const tls = await mounted(t, await stepAt(0));
  const [one, other] = [await startDistNode(t, 'one', epmdPort, { tls }), await startDistNode(t, 'other', epmdPort, { tls })];
  assert.ok(await one.node.connect(other.node.name));
  assert.equal((await one.record.logged('connected to node')).tls, true);
});

test('a node without a certificate, and one of a foreign CA, can neither dial nor be dialed', async (t) => {
  const epmdPort = await freePort();
  const { node } = await startDistNode(t, 'one', epmdPort, { tls: await mounted(t, await stepAt(0)) });
  const plain = await startDistNode(t, 'plain', epmdPort);
  const foreign = await startDistNode(t, 'foreign', epmdPort, { tls: await mounted(t, await stepAt(0)) });
  for (const untrusted of [plain.node, foreign.node]) {
    assert.equal(await untrusted.connect(node.name), false);
    assert.equal(await node.connect(untrusted.name), false);
  }
  assert.deepEqual(node.connections, []);
});

test('a node with the Secret before a renewal and one with the Secret after it connect, in both directions', async (t) => {
  const first = await stepAt(-370);
  const renewed = await stepAt(-2, first);
  const announced = await stepAt(-2, renewed);
  const signed = await stepAt(0, announced);
  for (const [old, fresh] of [
    [renewed, announced],
    [announced, signed],
  ] as const) {
    const epmdPort = await freePort();
    const behind = await startDistNode(t, 'behind', epmdPort, { tls: await mounted(t, old) });
    const ahead = await startDistNode(t, 'ahead', epmdPort, { tls: await mounted(t, fresh) });
    const third = await startDistNode(t, 'third', epmdPort, { tls: await mounted(t, fresh) });
    assert.ok(await behind.node.connect(ahead.node.name));
    assert.ok(await third.node.connect(behind.node.name));
    await connectedTo(behind.node, [ahead.node.name, third.node.name]);
  }
});
