// Upload failures of a Room: reported in conditions and Events without keys, until uploads succeed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { condition, type KubeJson, room } from '../kit/kube/read-objects.ts';
import { RoomFixture } from '../kit/kube/room-fixture.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';

test('rejected S3 keys make a Ready Room Degraded, reported once, until they are replaced', { timeout: 300_000 }, async (t) => {
  const [fixture, s3] = [await RoomFixture.start(t), await startS3Server(t)];
  const env = { SVC_IP: '127.0.0.1', SVC_COMPONENTS_USED: 'recording', SVC_RESOURCES_BASE_PATH: await makeResources(t) };
  await fixture.addCluster('media', [await startNode(t, env)]);
  await fixture.startOperator({ pollMs: 2_000 });
  const wrong = 'this-is-not-the-secret-key';
  const keys = (secretAccessKey: string) => ({
    ...{
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'default', labels: { 'mediarooms.dev/room-secret': 'true' } },
    },
    stringData: { accessKeyId: s3.place.accessKeyId, secretAccessKey },
  });
  await fixture.server.apply(keys(wrong));
  const { bucket, endpoint } = s3.place;
  const options = { s3: { bucket, endpoint, secretRef: { name: 'keys' } } };
  await fixture.server.apply(room('taped', { components: [{ name: 'tape', recording: options }] }));
  // The second rejection arrives within a second, so the Room may become Ready and Degraded at once.
  await fixture.waitUntilReady('taped');
  const failing = await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.status === 'True');
  const message = 'Component tape: Its uploads fail: S3 rejected the access key (SignatureDoesNotMatch).';
  assert.deepEqual([condition(failing, 'Degraded').reason, condition(failing, 'Degraded').message], ['UploadsFail', message]);
  assert.deepEqual([condition(failing, 'Ready').status, failing.status.phase], ['True', 'Ready']);
  const [tape] = failing.status.components;
  assert.deepEqual([tape.ready, tape.message], [true, 'Its uploads fail: S3 rejected the access key (SignatureDoesNotMatch).']);

  await fixture.server.apply(keys(s3.place.secretAccessKey));
  const well = await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.status === 'False');
  assert.equal(well.status.components[0].message, undefined);
  await eventually('the report is in S3', async () => (await s3.names()).some((name) => name.endsWith('/report.json')));
  const events = async (): Promise<KubeJson[]> => {
    const { items } = await fixture.object('/apis/events.k8s.io/v1/namespaces/default/events');
    return items.filter(({ regarding }: KubeJson) => regarding.name === 'taped');
  };
  await eventually('an Event reports the recovery', async () => (await events()).some(({ reason }) => reason === 'AsDeclared'));
  const reported = (await events()).filter(({ action }) => action === 'Watch').map(({ type, reason, note }) => ({ type, reason, note }));
  assert.deepEqual(
    reported.sort((one, other) => (one.type < other.type ? 1 : -1)),
    [
      { type: 'Warning', reason: 'UploadsFail', note: message },
      { type: 'Normal', reason: 'AsDeclared', note: 'Everything declared in the spec is working.' },
    ],
  );
  const shown = JSON.stringify([failing, well, await events()]);
  assert.ok(!shown.includes(wrong) && !shown.includes(s3.place.secretAccessKey) && !shown.includes(s3.place.accessKeyId));
});
