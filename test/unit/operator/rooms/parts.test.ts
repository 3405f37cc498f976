// Small decisions about Rooms: desired state, Secrets, id conflicts, Events and rejections.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { roomSpecSchema } from '../../../../crds/room.ts';
import { controllerReference, type Stored } from '../../../../operator/kube/objects.ts';
import type { Room } from '../../../../operator/objects.ts';
import { BoundedMap } from '../../../../operator/rooms/bounded-map.ts';
import { defaultsOf, oldFormNotice, readSpec } from '../../../../operator/rooms/desired.ts';
import { desiredComponents, type Secret, SecretDigests, secretNamesOf } from '../../../../operator/rooms/desired-components.ts';
import { peerSecret, peerSecretName, peerUrl, readPeerSecret, renewalIn } from '../../../../operator/rooms/peer-secret.ts';
import { PendingSecretWrite, RejectionCache, RoomCache } from '../../../../operator/rooms/room-cache.ts';
import { conflictingRoom } from '../../../../operator/rooms/room-conflicts.ts';
import { transitions } from '../../../../operator/rooms/transitions.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { desiredComponent, nodeComponent, observed, present, readyStatus, uid } from './observed.ts';

function secret(name: string, data: Record<string, string>, metadata: object = {}): Stored<Secret> {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'n',
      uid: `uid-of-${name}`,
      resourceVersion: '5',
      labels: { 'mediarooms.dev/room-secret': 'true' },
      ...metadata,
    },
    data: encoded,
  };
}

function accessTo(stored: Stored<Secret> | undefined, usable: 'labeled' | 'any' = 'labeled') {
  return { secretOf: () => stored, usable, digests: new SecretDigests() };
}

describe('Desired components', () => {
  const spec = (options: object, type = 'sip') => roomSpecSchema.parse({ components: [{ name: 'c', [type]: options }] });
  const sip = { registrarAddress: 'sip:r', username: 'u', passwordSecretRef: { name: 's', key: 'pw' } };
  const revisionOf = async (each: object, stored: Stored<Secret>, type = 'sip') => {
    const [desired] = await desiredComponents(spec(each, type), uid, accessTo(stored));
    assert.ok(desired && 'request' in desired);
    return desired;
  };

  test('contain the password for the node, and only its digest in ids', async () => {
    const desired = await revisionOf(sip, secret('s', { pw: 'opens-the-door' }));
    assert.deepEqual(desired.request.options, { registrarCredentials: { address: 'sip:r', username: 'u', password: 'opens-the-door' } });
    assert.doesNotMatch(desired.request.externalId, /opens-the-door/);
    assert.equal(desired.request.externalId, `${uid}/c/${desired.revision}`);
  });

  test('change their revision with password, option or Secret, and keep it over a restart', async () => {
    const first = (await revisionOf(sip, secret('s', { pw: 'one' }))).revision;
    assert.equal((await revisionOf(sip, secret('s', { pw: 'one', more: 'x' }))).revision, first);
    assert.notEqual((await revisionOf(sip, secret('s', { pw: 'two' }))).revision, first);
    assert.notEqual((await revisionOf({ ...sip, username: 'v' }, secret('s', { pw: 'one' }))).revision, first);
  });

  test('keep their revision if a component changes from the form of v1alpha1 to the current one', async () => {
    const read = readSpec({ ...observed().room, spec: { components: [{ name: 'c', type: 'sip', options: sip }] } } as never);
    assert.ok('spec' in read);
    const [desired] = await desiredComponents(read.spec, uid, accessTo(secret('s', { pw: 'one' })));
    assert.deepEqual(desired, await revisionOf(sip, secret('s', { pw: 'one' })));
  });

  test('contain S3 keys under the field of each component type', async () => {
    const s3 = { bucket: 'bkt', secretRef: { name: 's' } };
    const keys = secret('s', { accessKeyId: 'id', secretAccessKey: 'key' });
    const place = { bucket: 'bkt', accessKeyId: 'id', secretAccessKey: 'key' };
    const plain = {
      lowLatency: false,
      persistent: true,
      layout: 'speaker',
      names: true,
      width: 640,
      height: 360,
      framerate: 30,
      segmentDuration: 4,
    };
    assert.deepEqual((await revisionOf({ ...plain, s3 }, keys, 'hls')).request.options, { ...plain, s3: place });
    assert.deepEqual((await revisionOf({ s3 }, keys, 'recording')).request.options, { credentials: place });
  });

  test('report a missing Secret or key', async () => {
    const problemOf = async (stored: Stored<Secret> | undefined) => {
      const [desired] = await desiredComponents(spec(sip), uid, accessTo(stored));
      return desired && 'problem' in desired ? desired.problem.message : undefined;
    };
    assert.equal(await problemOf(undefined), 'Secret s does not exist.');
    assert.equal(await problemOf(secret('s', {})), 'Secret s has no key pw.');
  });

  test('use only a Secret with the label for Rooms, unless the MediaCluster releases all', async () => {
    const [sipComponent, refusal] = [spec(sip), 'Secret s needs the label mediarooms.dev/room-secret: "true", so that Rooms may use it.'];
    for (const labels of [undefined, {}, { 'mediarooms.dev/room-secret': 'false' }]) {
      const stored = secret('s', { pw: 'one' }, { labels });
      const [desired] = await desiredComponents(sipComponent, uid, accessTo(stored));
      assert.ok(desired && 'problem' in desired);
      assert.deepEqual(desired.problem, { reason: 'SecretNotLabeled', message: refusal });
      const [released] = await desiredComponents(sipComponent, uid, accessTo(stored, 'any'));
      assert.ok(released && 'request' in released);
    }
  });

  test('list the Secrets that they need, also in specs of older CRDs', () => {
    assert.deepEqual(secretNamesOf(spec(sip)), ['s']);
    assert.deepEqual(secretNamesOf({ components: [{ name: 'c', type: 'sip', options: sip }] } as never), ['s']);
    assert.deepEqual(secretNamesOf({ components: 'none' } as never), []);
    assert.deepEqual(secretNamesOf({ components: [null, {}] } as never), []);
  });
});

describe('A peer Secret', () => {
  const { room } = observed();

  test('can be read back', () => {
    const written = peerSecret(room, new Map([['ann.b', { token: 't', url: 'u' }]]), 3);
    const found = readPeerSecret({ ...written, metadata: { ...written.metadata, uid: 'x', resourceVersion: '1' } } as Stored<Secret>, room);
    assert.deepEqual(found, { foreign: false, peers: new Map([['ann.b', { token: 't', url: 'u' }]]), keyGeneration: 3 });
  });

  test('is foreign if another Room or no owner controls it', () => {
    assert.deepEqual(readPeerSecret(secret('r-peers', {}), room), { foreign: true });
    const of = (name: string, more: object = {}) =>
      secret('r-peers', {}, { ownerReferences: [{ ...controllerReference(room), name, uid: 'another' }], ...more });
    assert.deepEqual(readPeerSecret(of('another'), room), { foreign: true });
    assert.deepEqual(readPeerSecret(of(room.metadata.name), room), { foreign: true, left: true });
    const ending = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    assert.deepEqual(readPeerSecret(of(room.metadata.name, ending), room), { foreign: true });
    // Restored from a backup.
    const written = peerSecret(room, new Map(), 3);
    const { ownerReferences: _owners, ...restored } = written.metadata;
    const unowned = { ...written, metadata: { ...restored, uid: 'x', resourceVersion: '1' } } as Stored<Secret>;
    assert.deepEqual(readPeerSecret(unowned, room), { foreign: true, left: true });
  });

  test('has a unique name of at most 253 characters', () => {
    const long = (end: string) => peerSecretName({ name: 'x'.repeat(250) + end });
    assert.equal(long('a').length, 253);
    assert.notEqual(long('a'), long('b'));
    assert.equal(peerSecretName({ name: 'r' }), 'r-peers');
  });

  test('contains URLs with a scheme', () => {
    assert.equal(peerUrl('h:1/p/socket/peer/websocket', undefined), 'ws://h:1/p/socket/peer/websocket');
    assert.equal(peerUrl('h:1/p/socket/peer/websocket', 'https://m/'), 'wss://m/socket/peer/websocket');
    assert.equal(peerUrl(undefined, undefined), undefined);
  });

  test('with an invalid token is renewed', () => {
    for (const nonsense of ['', 'a.b.c', 'e30.e30.x', `e30.${Buffer.from('{"iat":1,"exp":"x"}').toString('base64url')}.x`]) {
      assert.equal(renewalIn(nonsense, 0, 0), 0);
    }
  });

  test('is the written version until the reflector has received it', () => {
    const written = new PendingSecretWrite();
    const made = secret('r-peers', {});
    written.set(made, 0);
    assert.equal(written.current(undefined, 1), made);
    const older = { ...made, metadata: { ...made.metadata, resourceVersion: '4' } };
    assert.equal(written.current(older, 2), made);
    assert.equal(written.current(undefined, 3), undefined, 'it was seen, so it was deleted since');
    written.set(made, 0);
    assert.equal(written.current(undefined, 60_000), undefined, 'it will not arrive any more');
    written.delete(made.metadata.uid);
    assert.equal(written.current(made, 1), undefined);
  });

  test('is not kept once the reflector has received it, whether its event or the response arrives first', () => {
    const made = secret('r-peers', { 'p.token': 'secret' });
    const { data: _, ...metadata } = made;
    const first = new PendingSecretWrite();
    first.set(made, 0);
    first.reflected('4');
    assert.equal(first.current(undefined, 1), made);
    first.reflected('5');
    assert.deepEqual([first.current(undefined, 1), first.resourceVersion], [undefined, '5']);
    const last = new PendingSecretWrite();
    last.set(made, 0);
    assert.equal(last.current(metadata, 1), metadata);
    assert.equal(last.current(undefined, 1), undefined);
  });

  test('does not exist if the reflector reported its deletion before the next reconcile', () => {
    const written = new PendingSecretWrite();
    const made = secret('r-peers', {});
    written.set(made, 0);
    written.deleted('of-another-one-of-its-name');
    assert.equal(written.current(undefined, 1), made);
    written.deleted(made.metadata.uid);
    assert.deepEqual([written.current(undefined, 2), written.resourceVersion], [undefined, undefined]);
  });
});

test('a written Room is kept until the reflector has received it', () => {
  const { room } = observed();
  const version = (resourceVersion: string) => ({ ...room, metadata: { ...room.metadata, resourceVersion } });
  const cache = new RoomCache(room.metadata.uid, 0);
  cache.room = version('10');
  cache.reflected(version('9'));
  cache.reflected(undefined);
  assert.equal(cache.room?.metadata.resourceVersion, '10');
  cache.reflected(version('10'));
  assert.equal(cache.room, undefined);
});

describe('In a conflict of two Rooms for one id', () => {
  const named = (name: string, created: string, incarnation?: string, phase?: string): Stored<Room> => ({
    ...observed().room,
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: created },
    status: { ...(incarnation && { incarnation }), ...(phase && { phase: phase as 'Ready' }) },
  });
  const [old, young] = [named('old', '2026-11-21T10:00:00Z'), named('young', '2026-11-21T11:00:00Z')];

  test('the older Room has it', () => {
    assert.equal(conflictingRoom(old, [old, young]), undefined);
    assert.equal(conflictingRoom(young, [old, young]), 'old');
  });

  test('the Room with an existing room keeps it', () => {
    const there = named('young', '2026-11-21T11:00:00Z', 'i');
    assert.equal(conflictingRoom(there, [old, there]), undefined);
    assert.equal(conflictingRoom(old, [old, there]), 'young');
  });

  test('a Room in a terminal phase has no claim', () => {
    assert.equal(conflictingRoom(young, [named('old', '2026-11-21T10:00:00Z', 'i', 'Finished'), young]), undefined);
  });
});

describe('A spec', () => {
  const of = (spec: object, name = 'r') => readSpec({ ...observed().room, metadata: { name }, spec } as Room);

  test('of an older CRD is rejected with a message', () => {
    assert.match((of({ maxPeers: 0 }) as { message: string }).message, /^spec\.maxPeers does not match/);
    assert.match((of({}, 'a.b') as { message: string }).message, /a\.b is not a valid room id/);
    assert.match((of({ peers: [{ name: 'a' }, { name: 'a' }] }) as { message: string }).message, /a is declared twice/);
    assert.ok('spec' in of(undefined as never));
  });

  test('in the form of v1alpha1 is read as the current form, with a notice', () => {
    const old = {
      components: [
        { name: 'c', type: 'hls', options: { layout: 'grid' } },
        { name: 'd', type: 'recording' },
      ],
    };
    const read = of(old);
    assert.deepEqual('spec' in read && read.spec.components, [
      { name: 'c', hls: { layout: 'grid' } },
      { name: 'd', recording: {} },
    ]);
    const notice =
      'Component c has the form of v1alpha1; in mediarooms.dev/v1alpha2 it is {name: c, hls: {...}} instead of {name: c, type: hls, options: {...}}.';
    assert.equal(oldFormNotice({ spec: old as never }), notice);
    assert.equal(oldFormNotice({ spec: { components: [{ name: 'c', hls: {} }] } as never }), undefined);
    assert.equal(oldFormNotice({ spec: { components: 'none' } as never }), undefined);
    const mixed = of({ components: [{ name: 'c', hls: {}, sip: {} }] });
    assert.match('message' in mixed ? mixed.message : '', /sip\.registrarAddress|must have exactly one of hls, recording, sip and file/);
    assert.match((of({ components: [{ name: 'c', type: 'rtmp' }] }) as { message: string }).message, /exactly one of|type does not match/);
  });

  test('gets the defaults of its MediaCluster, including null', () => {
    assert.deepEqual(defaultsOf({ spec: {} as never }), { peerlessPurgeTimeout: null, peerDisconnectedTimeout: 120 });
    const config = { roomDefaults: { peerDisconnectedTimeout: null, peerlessPurgeTimeout: 5 } };
    assert.deepEqual(defaultsOf({ spec: { config } as never }), { peerlessPurgeTimeout: 5, peerDisconnectedTimeout: null });
    const zero = { roomDefaults: { peerDisconnectedTimeout: 0, peerlessPurgeTimeout: 0 } };
    assert.deepEqual(defaultsOf({ spec: { config: zero } as never }), { peerlessPurgeTimeout: null, peerDisconnectedTimeout: null });
  });
});

describe('An Event', () => {
  const ready = readyStatus();

  test('is created for a change only', () => {
    const placed = {
      type: 'Normal',
      reason: 'Ready',
      action: 'Place',
      note: 'Room r is on node media-0, and everything declared in the spec is ready.',
    };
    assert.deepEqual(transitions({}, ready), [placed]);
    assert.deepEqual(transitions(ready, { ...ready, peers: { total: 3, connected: 1 } }), []);
  });

  test('is created for failing and recovered uploads', () => {
    const withTape = (uploadProblem?: string | null) => {
      const tape = nodeComponent('tape', 'v1', {
        type: 'recording',
        ...(uploadProblem !== undefined && { properties: { uploadProblem } }),
      });
      return readyStatus({ location: present({ components: [tape] }), desiredComponents: [desiredComponent('tape', 'v1', 'recording')] });
    };
    const [well, failing] = [withTape(), withTape('S3 rejected the access key (InvalidAccessKeyId)')];
    const note = 'Component tape: Its uploads fail: S3 rejected the access key (InvalidAccessKeyId).';
    const warning = { type: 'Warning', reason: 'UploadsFail', action: 'Watch', note };
    assert.deepEqual(transitions(well, failing), [warning]);
    assert.deepEqual(transitions(failing, withTape('S3 did not respond in time')), []);
    const again = { type: 'Normal', reason: 'AsDeclared', action: 'Watch', note: 'Everything declared in the spec is working.' };
    assert.deepEqual(transitions(failing, withTape(null)), [again]);
    assert.deepEqual(fieldsOf(transitions({}, failing), 'reason'), ['Ready', 'UploadsFail']);
  });
});

describe('A rejection', () => {
  test('is retried after a change or a delay', () => {
    const rejectionCache = new RejectionCache();
    const rejections = new Map([['a', { reason: 'R', message: 'M.', retryAfterMs: 100 }]]);
    rejectionCache.add(rejections, 'stamp', 0);
    rejectionCache.add(rejections, 'stamp', 50);
    assert.deepEqual(rejectionCache.current('stamp', 99), rejections);
    assert.equal(rejectionCache.current('stamp', 100).size, 0);
    rejectionCache.add(rejections, 'stamp', 0);
    assert.equal(rejectionCache.current('other', 1).size, 0);
  });
});

test('a bounded map drops the oldest write', () => {
  const boundedMap = new BoundedMap<string, number>(2);
  for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) boundedMap.set(key, index);
  assert.deepEqual(
    [...boundedMap.map],
    [
      ['a', 2],
      ['c', 3],
    ],
  );
});
