// Conditions: valid manifests that fail in the cluster are reported in the status, and nothing else changes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../kit/eventually.ts';
import { startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { condition, type KubeJson, waitForEvent } from '../kit/kube/read-objects.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { manifests, writeManifests } from './manifests.ts';

const namespaces = ['default', 'two', 'none', 'clusters'];
const fixture = await startClusterFixture({ after }, { operator: { env: { OPERATOR_WATCH_NAMESPACES: namespaces.join(' ') } } });
const { folder, written } = writeManifests('conditions', after);
/** Timeout until the status reports the cause, in milliseconds. The promise is five seconds, which a busy machine does not keep. */
const timeoutMs = 60_000;

const wrong = written.map(({ message: expected, ...manifest }) => {
  const [, type = '', status = '', reason = '', message = ''] = /^(\w+)=(\w+) (\w+): (.+)$/.exec(expected) ?? [];
  return { ...manifest, type, status, reason, message };
});

/** Resource version of every Room and MediaCluster. */
async function versions(): Promise<Map<string, string>> {
  const { items } = JSON.parse(await fixture.kubectl('get', 'mroom,mcl', '-A', '-o', 'json')) as KubeJson;
  return new Map(items.map(({ kind, metadata }: KubeJson) => [`${kind} ${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]));
}

/** Rooms on the node: id, incarnation and externalId. */
async function nodeRooms(): Promise<Map<string, { incarnation: string; externalId: string | null }>> {
  const { body } = await (await fixture.api('media-0')).get('/room');
  return new Map(body.data.map(({ id, incarnation, externalId }: KubeJson) => [id, { incarnation, externalId }]));
}

describe('A manifest that fails in the cluster', () => {
  let standing: Map<string, string>;
  let rooms: Awaited<ReturnType<typeof nodeRooms>>;

  it('has at least 18 cases', () => {
    assert.ok(wrong.length >= 18);
    assert.deepEqual(
      wrong.filter(({ type }) => type === '').map(({ file }) => file),
      [],
    );
    assert.equal(new Set(wrong.map(({ reason }) => reason)).size >= 10, true);
  });

  it('is reported within seconds as a condition with reason and message', async (t) => {
    await fixture.kubectl('apply', '-f', join(manifests, 'around-conditions.yaml'));
    assert.equal((await (await fixture.api('media-0')).post('/room', { roomId: 'unmanaged' })).status, 201);
    await fixture.waitFor('rooms', 'owner', (room) => condition(room, 'Ready')?.status === 'True');
    standing = await versions();
    rooms = await nodeRooms();
    const elapsed = stopwatch();
    await fixture.kubectl('apply', '-f', folder);
    for (const { file, kind, name, namespace, type, status, reason, message } of wrong) {
      const matches = (object: KubeJson) => condition(object, type)?.reason === reason && condition(object, type).message === message;
      const object = await fixture.waitFor(kind, name, matches, timeoutMs, namespace);
      const found = condition(object, type);
      assert.equal(found.status, status, file);
      assert.equal(found.observedGeneration, object.metadata.generation, file);
      if (kind === 'rooms')
        assert.deepEqual([condition(object, 'Ready').status, condition(object, 'Ready').reason], ['False', reason], file);
      if (kind === 'rooms') assert.equal(object.status.phase, 'Pending', file);
    }
    t.diagnostic(`${wrong.length} reported after ${Math.round(elapsed())} ms`);
    assertPrompt('to report all', elapsed(), { promised: 12_000 });
  });

  it('has an Event that kubectl describe shows', async () => {
    await waitForEvent(fixture.server, 'room-id-of-another-room', 'RoomIdTaken');
    const described = await fixture.kubectl('describe', 'mroom', 'room-id-of-another-room');
    assert.match(described, /RoomIdTaken[\s\S]*Events:[\s\S]*Warning\s+RoomIdTaken/);
  });

  it('creates no room if it is not accepted, and affects no foreign room', async () => {
    const now = await nodeRooms();
    for (const [id, room] of rooms) assert.deepEqual(now.get(id), room, id);
    const placed = wrong.filter(({ kind, type }) => kind === 'rooms' && type === 'Ready').map(({ name }) => name);
    assert.deepEqual([...now.keys()].sort(), [...rooms.keys(), ...placed].sort());
    const versionsNow = await versions();
    assert.equal(versionsNow.get('Room default/owner'), standing.get('Room default/owner'));
  });

  it('settles without repeated writes', async () => {
    const matches = async () => [...(await versions())].filter(([key]) => key !== 'MediaCluster default/media');
    let written: unknown[] = [];
    await eventually(
      () => `nothing is written, but ${JSON.stringify(written)}`,
      async () => {
        const before = new Map(await matches());
        // The first interval may contain pending writes. Only waiting can show that nothing is written.
        await sleep(3_000);
        written = (await matches()).filter(([key, version]) => before.get(key) !== version);
        return written.length === 0;
      },
    );
  });

  it('shows its reason in kubectl get -o wide, and satisfies a wait for Ready=false', async () => {
    const row = (await fixture.kubectl('get', 'mroom', 'room-s3-secret-missing', '-o', 'wide', '--no-headers')).trim().split(/\s+/);
    assert.deepEqual([row[1], row.at(-1), row.at(-2)], ['Pending', 'SecretMissing', '0/1']);
    await fixture.kubectl('wait', '--for=condition=Ready=false', '--timeout=60s', 'mroom/room-id-of-another-room');
  });

  it('can be deleted immediately, and foreign objects are kept', async () => {
    await fixture.kubectl('delete', '--timeout=60s', '-f', folder);
    assert.deepEqual(await nodeRooms(), rooms);
    assert.equal((await versions()).get('Room default/owner'), standing.get('Room default/owner'));
  });
});
