// A hostile node in the network of a cluster, without its cookie.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { connect } from 'node:tls';
import { defaultEpmdPort } from '../../node/cluster/erlang/epmd/epmd.ts';
import { findNode } from '../../node/cluster/erlang/epmd/epmd-client.ts';
import { eventually } from '../kit/eventually.ts';
import { makeClusterCertificates } from '../kit/network/certificates.ts';
import { testCookie } from '../kit/network/dist-nodes.ts';
import { startRelay } from '../kit/network/dist-relay.ts';
import { socketClosed } from '../kit/network/listen.ts';
import { RawDistPeer } from '../kit/network/raw-dist-peer.ts';
import { type NodeProcess, runNodeToEnd, startNodeProcess } from '../kit/processes/node-process.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { attack } from './attack.ts';
import { attacks } from './cluster.attacks.ts';

let names = 0;
/** A node name without host that no other test uses. */
function newName(): string {
  names += 1;
  return `hostile${process.pid}x${names}`;
}

/** A node that dials another one, if given. */
function startOne(t: TestContext, name: string, dials = name, more = {}): Promise<NodeProcess> {
  return startNodeProcess(t, {
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_COOKIE: testCookie,
    SVC_DIST_NODE_NAME: `${name}@localhost`,
    SVC_DIST_NODES: `${dials}@localhost`,
    ...more,
  });
}

async function nodesOf({ api }: NodeProcess): Promise<number> {
  return (await api.get('/health')).body.data.distribution.nodesInCluster;
}

/** Result of a node that dials a lost one whose address the attacker has taken. */
async function takePlace(t: TestContext, erlang: boolean) {
  const [goal, relayName] = [newName(), newName()];
  const target = await startOne(t, goal);
  const place = { name: relayName, wholeName: `${relayName}@localhost`, target: goal, epmdPort: defaultEpmdPort, erlang };
  const next = await startRelay(t, place);
  const dialling = await startOne(t, newName(), relayName);
  return { relayed: await next(), dialling, target };
}

attack(attacks.relay, async (t) => {
  const { relayed, dialling, target } = await takePlace(t, false);
  assert.ok(relayed.proof);
  assert.equal(relayed.letIn, false);
  assert.deepEqual([await nodesOf(dialling), await nodesOf(target)], [1, 1]);
  assert.match(target.output(), /node rejected: wrong cookie/);
});

attack(attacks.downgrade, async (t) => {
  const { relayed, dialling, target } = await takePlace(t, true);
  assert.deepEqual(relayed, { proof: undefined, letIn: false });
  assert.deepEqual([await nodesOf(dialling), await nodesOf(target)], [1, 1]);
  assert.match(dialling.output(), /node not dialed: only supports the Erlang cookie proof/);
});

attack(attacks.halfOpen, async (t) => {
  const name = newName();
  await startOne(t, name);
  const port = (await findNode({ host: '127.0.0.1', port: defaultEpmdPort }, name))?.entry.port ?? 0;
  const elapsed = stopwatch();
  const silent = await Promise.all(Array.from({ length: 300 }, () => RawDistPeer.dial(t, port)));
  const relayName = Promise.all(silent.map(({ socket }) => socketClosed(socket)));
  await (await RawDistPeer.dial(t, port)).shakeHands(`${newName()}@localhost`);
  await relayName;
  assertPrompt('the disconnect', elapsed(), { promised: 7_000 });
});

attack(attacks.publicCookie, async () => {
  const { code, output } = await runNodeToEnd({ SVC_DIST_ENABLED: 'true', SVC_DIST_IP: '0.0.0.0', SVC_SECRET_KEY_BASE: '' });
  assert.equal(code, 1);
  assert.match(output, /Expected SVC_DIST_COOKIE or SVC_SECRET_KEY_BASE to be set/);
});

attack(attacks.withoutCertificate, async (t) => {
  const [name, other] = [newName(), newName()];
  const { caPath, certPath, keyPath } = await makeClusterCertificates(t);
  const tls = { SVC_DIST_TLS: 'required', SVC_DIST_TLS_CA: caPath, SVC_DIST_TLS_CERT: certPath, SVC_DIST_TLS_KEY: keyPath };
  const node = await startOne(t, name, name, tls);
  const port = (await findNode({ host: '127.0.0.1', port: defaultEpmdPort }, name))?.entry.port ?? 0;
  const plain = await RawDistPeer.dial(t, port);
  plain.sayName(`${newName()}@localhost`);
  assert.equal((await plain.read())?.subarray(0, 1).toString() === 's', false);
  const own = await makeClusterCertificates(t);
  const [ca, cert, key] = await Promise.all([caPath, own.certPath, own.keyPath].map((path) => readFile(path)));
  const secure = new RawDistPeer(connect({ port, host: '127.0.0.1', ca, cert, key }));
  secure.sayName(`${newName()}@localhost`);
  assert.equal(await secure.read(), undefined);
  // A node with a certificate is accepted.
  await startOne(t, other, name, tls);
  await eventually('two nodes', async () => (await nodesOf(node)) >= 2);
  assert.match(node.output(), /"tls":true/);
});
