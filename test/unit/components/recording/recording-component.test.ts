// Options of recordings: a node accepts the options that the operator derives from a Room, and rejects a second storage.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roomSpecSchema } from '../../../../crds/room.ts';
import { createRecordingSpec } from '../../../../node/components/recording/recording-component.ts';
import { Recordings, type RecordingTarget } from '../../../../node/components/recording/recordings.ts';
import type { ComponentHost } from '../../../../node/rooms/interfaces.ts';
import { desiredComponents, SecretDigests } from '../../../../operator/rooms/desired-components.ts';
import { noUploads } from '../../../kit/fakes/component-registry.ts';
import { makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const keys = { accessKeyId: 'id', secretAccessKey: 'key' };
const encoded = Object.fromEntries(Object.entries(keys).map(([name, value]) => [name, Buffer.from(value).toString('base64')]));
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'n', uid: 'u', resourceVersion: '1' }, data: encoded };

/** Options with which a recording is created. */
async function prepared(options: unknown, nodeHasOne: boolean, resources: string) {
  const recordings = new Recordings({ log: silentLog(), resources, node: 'n', uploads: noUploads, timeToLive: () => null });
  let plan: Partial<RecordingTarget> = {};
  recordings.create = (given) => {
    plan = given;
    return Promise.reject(new Error('enough is known'));
  };
  const component = createRecordingSpec(options, recordings, { hasPlace: () => nodeHasOne });
  const host = { log: silentLog(), componentId: 'c', room: { roomId: 'r', incarnation: 'i', webhookUrl: () => null } };
  await component
    .open(host as unknown as ComponentHost)
    .start()
    .catch(() => {});
  return { plan, properties: component.properties, origins: component.origins };
}

const planOf = async (...given: Parameters<typeof prepared>): Promise<Partial<RecordingTarget>> => (await prepared(...given)).plan;

test('properties are the given options without keys', async (t) => {
  const resources = await makeResources(t);
  const place = { bucket: 'bkt', region: 'eu-1', endpoint: 'https://s3.test:9000/x' };
  for (const [options, properties] of [
    [{}, { subscribeMode: 'auto' }],
    [
      { subscribeMode: 'manual', credentials: { ...place, ...keys }, pathPrefix: 'a/b' },
      { subscribeMode: 'manual', pathPrefix: 'a/b', credentials: { ...place, pathPrefix: null } },
    ],
    [
      { credentials: { bucket: 'bkt', ...keys, pathPrefix: 'a' }, pathPrefix: null },
      { subscribeMode: 'auto', credentials: { bucket: 'bkt', region: null, endpoint: null, pathPrefix: 'a' } },
    ],
  ] as const) {
    assert.deepEqual((await prepared(options, false, resources)).properties, properties);
  }
});

test('options of the operator are accepted and select the storage of the Room', async (t) => {
  const resources = await makeResources(t);
  const place = { bucket: 'bkt', region: 'eu-1', endpoint: 'https://s3.test:9000/x' };
  const asked = async (options: object) => {
    const spec = roomSpecSchema.parse({ components: [{ name: 'c', recording: options }] });
    const [desired] = await desiredComponents(spec, 'uid', { secretOf: () => secret, usable: 'any', digests: new SecretDigests() });
    assert.ok(desired && 'request' in desired);
    return desired.request.options;
  };
  const s3 = { ...place, secretRef: { name: 's' } };
  assert.deepEqual((await planOf(await asked({ s3 }), false, resources)).place, { ...place, ...keys });
  const prefixed = { ...place, ...keys, pathPrefix: 'a/b' };
  assert.deepEqual(
    (await planOf(await asked({ s3: { ...s3, pathPrefix: 'a/b' }, subscribeMode: 'manual' }), false, resources)).place,
    prefixed,
  );
  assert.deepEqual((await planOf(await asked({ s3, pathPrefix: 'a/b' }), false, resources)).place, prefixed);
  assert.equal((await planOf(await asked({}), true, resources)).place, undefined);
  const manual = { subscribeMode: 'manual', origins: ['host', 'guest'] };
  assert.deepEqual((await prepared(await asked(manual), false, resources)).origins, ['host', 'guest']);
});

test('a storage in the request conflicts with that of the node; errors contain no keys', async (t) => {
  const resources = await makeResources(t);
  const credentials = { bucket: 'bkt', ...keys };
  for (const [options, nodeHasOne, message] of [
    [{ credentials }, true, /^Conflicting S3 credentials supplied via environment variables and the REST API\. /],
    [{ pathPrefix: 'x' }, true, /^Conflicting S3 path prefix supplied via environment variables and the REST API\. /],
    [{ pathPrefix: 'x' }, false, /^pathPrefix requires credentials$/],
    [{ credentials: { ...credentials, pathPrefix: 'x' }, pathPrefix: 'x' }, false, /^pathPrefix is set twice$/],
    [
      { credentials: { ...credentials, endpoint: 'https://user:secret@s3.test' } },
      false,
      /^Expected credentials\.endpoint to be a URL without a user, got: a value that is not shown here$/,
    ],
    [{ credentials: { ...credentials, more: 1 } }, false, /^Unknown field credentials\.more$/],
    [{ credentials: 'text' }, false, /^Expected credentials to be an object, got: a value that is not shown here$/],
  ] as const) {
    await assert.rejects(planOf(options, nodeHasOne, resources), { status: 400, message });
  }
});
