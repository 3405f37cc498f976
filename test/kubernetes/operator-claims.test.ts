// Two installations over one namespace: the second reports the first and changes nothing, until the claim of the first has expired.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { type KubeJson, mediaCluster, readObject, waitForEvent } from '../kit/kube/read-objects.ts';

const server = await startApiServer({ after });
await applyDefinitions(server);
/** An operator of the namespace `name` that watches `default`. */
const install = (name: string) =>
  startOperator({ after }, server, { env: { OPERATOR_NAMESPACE: name, OPERATOR_WATCH_NAMESPACES: 'default' } });

const claim = async (): Promise<KubeJson> => ((await readObject(server, 'leases', 'mediarooms-claim', 'default')) as KubeJson).spec;
const observed = async (generation: number) =>
  eventually(
    `generation ${generation} is reconciled`,
    async () => ((await readObject(server, 'mediaClusters', 'media', 'default')) as KubeJson).status?.observedGeneration === generation,
    { within: 60_000 },
  );

await server.apply(['one', 'two'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
await server.apply(mediaCluster('media', { replicas: 0 }));
const first = install('one');
await observed(1);
const second = install('two');

test('the first installation manages the namespace, and the second reports it and changes nothing', async () => {
  assert.equal((await claim()).holderIdentity, 'one/mediarooms-operator');
  await second.says(/"holder":"one\/mediarooms-operator","msg":"another operator manages namespace/);
  await waitForEvent(server, 'media', 'NamespaceClaimed');
  await server.apply(mediaCluster('media', { replicas: 0, maxReplicas: 3 }));
  await observed(2);
  assert.equal((await claim()).holderIdentity, 'one/mediarooms-operator');
  assert.doesNotMatch(second.output, /"msg":"claimed namespace"/);
});

test('after the first installation ended, the second continues once its claim has expired', async () => {
  await first.stop();
  await second.says(/"msg":"claimed namespace"/, 120_000);
  assert.equal((await claim()).holderIdentity, 'two/mediarooms-operator');
  await server.apply(mediaCluster('media', { replicas: 0, maxReplicas: 4 }));
  await observed(3);
});

test('a replica of the same installation continues with the claim', async () => {
  const { leaseTransitions } = await claim();
  install('two');
  await second.stop();
  await server.apply(mediaCluster('media', { replicas: 0, maxReplicas: 5 }));
  await observed(4);
  const { holderIdentity, leaseTransitions: now } = await claim();
  assert.deepEqual([holderIdentity, now], ['two/mediarooms-operator', leaseTransitions]);
});
